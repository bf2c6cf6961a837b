"""Flies a survey with two vehicles, and prints what they do until all of it is flown."""

import asyncio

from skein import AsyncFleet
from skein.models import Area, Mission, MissionSpec, Place, Survey

CORNERS = [(47.3981, 8.5455), (47.3981, 8.5461), (47.3985, 8.5461), (47.3985, 8.5455)]


async def main() -> None:
    area = Area(polygon=[Place(latitude_degrees=lat, longitude_degrees=lon) for lat, lon in CORNERS])
    survey = Survey(area=area, altitude_meters=20, line_spacing_meters=15, speed_meters_per_second=8)
    async with AsyncFleet() as fleet:
        await fleet.apply(Mission.named("field", MissionSpec(survey=survey, parallelism=2, altitude_step_meters=15)))
        flown = asyncio.create_task(fleet.missions.wait_until("field", "Complete", timeout_s=1800))
        async for snapshot in fleet.telemetry(interval_s=2):
            print(*(f"{vehicle.node}: {vehicle.phase}" for vehicle in snapshot.vehicles), sep=", ")
            if flown.done():
                break
        print((await flown).name, "is flown")


if __name__ == "__main__":
    asyncio.run(main())
