import pytest

from skein._program import find, planned_flights
from skein.errors import ProgramMissing
from skein.testing import _faults
from skein.testing._host import command_long, crc


def test_a_command_is_a_frame_of_mavlink_2() -> None:
    assert crc(b"123456789") == 0x6F91, "the check value of CRC-16/MCRF4XX"
    frame = command_long(system=7, command=50_015, sequence=258)
    assert frame[0] == 0xFD
    assert frame[1] == len(frame) - 12
    assert frame[4:10] == bytes([2, 255, 190, 76, 0, 0])
    assert frame[10 + 28 : 10 + 32] == (50_015).to_bytes(2, "little") + bytes([7, 1])


def test_every_fault_has_a_command_of_its_own_that_the_vehicle_never_gets() -> None:
    lines = list(_faults.script())
    numbers = [line.split()[1] for line in lines if not line.endswith("lose-command")]
    assert len(numbers) == len(set(numbers)) == len(lines) / 2
    assert all(0 < int(number) < 65_536 for number in numbers)
    assert f"on {_faults.battery(15)} every battery 15" in lines
    assert f"on {_faults.mode('brake')} every mode brake" in lines
    assert f"on {_faults.no_gps(12.2)} every no-gps for 12" in lines


def test_what_cannot_be_is_refused_with_what_can() -> None:
    with pytest.raises(ValueError, match="0 to 100"):
        _faults.battery(101)
    with pytest.raises(ValueError, match=r"choose one of .*brake"):
        _faults.mode("sport")
    with pytest.raises(ValueError, match="lower the duration"):
        _faults.no_gps(2001)


def test_a_program_that_is_missing_says_how_to_name_it() -> None:
    with pytest.raises(ProgramMissing, match="set SKEIN_SITL_BIN"):
        find("skein-sitl", {"PATH": "/nonexistent"})
    with pytest.raises(ProgramMissing, match="no program"):
        find("skein", {"SKEIN_BIN": "/nonexistent/skein"})


def test_the_flights_of_a_preview_are_to_the_meter_and_leave_out_who_stays() -> None:
    def feature(coordinates: list[float], **properties: object) -> dict[str, object]:
        return {"properties": properties, "geometry": {"coordinates": coordinates}}

    share = {"kind": "share", "seconds": 3767, "meters": 4517.0, "workMeters": 302.0}
    features = [
        feature([-8.545541, 47.398071], kind="start", vehicle=1),
        feature([-8.5, 47.3], kind="start", vehicle=2),
        feature([], vehicle=1, **share),
        feature([], kind="work", vehicle=1),
    ]
    (flight,) = planned_flights({"features": features})
    assert flight.start == (47.398071, -8.545541)
    assert (flight.time_s, flight.flies_m, flight.work_m) == (3767, 4517, 302)
