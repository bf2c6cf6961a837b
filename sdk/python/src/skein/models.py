"""Every resource of Skein. Generated from `crds/*.yaml` by `tools/generate.py`; do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from skein.resource import Condition, Model, Resource, Status


class External(Model):
    """How far around its station a program may fly the vehicle. Nobody else is granted any of that. Needed with
    control: External.
    """

    above_meters: Annotated[float, Field(ge=5, le=100)]
    """How far it reaches up from the station, in meters, 5 to 100. Its highest part must be no more than 120 meters
    above the vehicle's home.
    """

    below_meters: Annotated[float, Field(ge=5, le=100)]
    """How far it reaches down from the station, in meters, 5 to 100. Its lowest part must be 3 meters or more above
    the vehicle's home.
    """

    radius_meters: Annotated[float, Field(ge=10, le=500)]
    """How far the volume reaches over ground, in meters, 10 to 500."""

    lease_seconds: Annotated[int, Field(ge=1, le=30)] = 3
    """How long the program may be silent before Skein takes the vehicle back, in seconds, 1 to 30; 3 when left out.
    Each set-point and each HEARTBEAT renews the lease.
    """


class Failsafe(Model):
    """What the vehicle does by itself when something goes wrong. Leave it out for the defaults."""

    coordinator_loss_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    """How long the agent goes without contact to the coordinator before it acts, in seconds. 5 to 3600, 60 when left
    out.
    """

    on_coordinator_loss: Literal["Continue", "Hold", "Return", "Land"] = "Continue"
    """What the agent does after it has had no contact with the coordinator for coordinatorLossSeconds: Continue (go on
    as ordered, also with a Mission; the default), Hold (stop a Mission and hold), Return or Land.
    """

    on_low_battery: Literal["Continue", "Return", "Land"] = "Return"
    """What the agent does when the battery in flight has reached reservePercent: Return (the default: return to home
    and land), Land, or Continue (leave it to the autopilot's own battery failsafe).
    """

    preflight: Literal["Ignore", "Warn", "Refuse"] = "Warn"
    """What the agent does when the autopilot's own failsafes (loss of the ground station, low battery) are switched
    off: Warn (the default: report it and fly), Refuse (do not arm) or Ignore (do not check).
    """

    reserve_percent: Annotated[int, Field(ge=5, le=80)] = 20
    """Remaining battery at or below which it counts as low, in percent. 5 to 80, 20 when left out. No vehicle takes
    off with so little.
    """


class Station(Model):
    """Place at which the vehicle holds. It flies there once the airspace on its way is free, and comes home to land
    when the Drone is deleted or its node is drained. Leave it out to hold above home, at takeoffAltitudeMeters.
    """

    altitude_meters: float
    """Altitude in meters, measured from what altitudeReference names. Above home: 1 to 120. Above mean sea level:
    within the limits that the coordinator is started with.
    """

    latitude_degrees: Annotated[float, Field(ge=-90, le=90)]
    """Degrees, WGS 84, north positive."""

    longitude_degrees: Annotated[float, Field(ge=-180, le=180)]
    """Degrees, WGS 84, east positive."""

    altitude_reference: Literal["AboveHome", "AboveMeanSeaLevel"] = "AboveHome"
    """What altitudeMeters is measured from: AboveHome (the home position of the vehicle that holds the station, the
    default) or AboveMeanSeaLevel.
    """

    heading_degrees: Annotated[float, Field(ge=0, lt=360)] | None = None
    """Where the nose points while it holds there, in degrees clockwise from true north, from 0 up to 360. When left
    out, the autopilot decides; most point it along the way that they came.
    """

    speed_meters_per_second: Annotated[float, Field(gt=0, le=20)] | None = None
    """How fast it flies there over ground, in meters per second, above 0 and up to 20. When left out, the autopilot
    decides; once given, a speed stays until the vehicle has landed.
    """


class DroneSpec(Model):
    """What the Drone asks for. All of it can be left out: `spec: {}` is one vehicle, from any free drone node, holding
    10 meters above its home.
    """

    control: Literal["Skein", "External"] | None = None
    """Who flies the vehicle once it holds its station: Skein (the default: it stays there) or External: a program of
    yours may, through `skein connect --control`, within the volume of spec.external. Skein takes it back when the
    program is silent or would leave that.
    """

    external: External | None = None
    """How far around its station a program may fly the vehicle. Nobody else is granted any of that. Needed with
    control: External.
    """

    failsafe: Failsafe | None = None
    """What the vehicle does by itself when something goes wrong. Leave it out for the defaults."""

    grounded: bool | None = None
    """Set to true to land this Drone's vehicle and keep it on the ground; set to false (or leave out) to let it fly.
    `skein ground` sets it. False ends no ground order: only `skein release` does.
    """

    node_name: str | None = None
    """Name of the drone node whose vehicle serves this Drone. Leave it out: the coordinator sets it once, when it has
    found a free vehicle. It never changes afterwards.
    """

    node_selector: dict[str, str] | None = None
    """Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to serve this Drone. Leave
    it out to take any free drone node.
    """

    resume_after_takeovers: Annotated[int, Field(ge=0)] | None = None
    """After somebody else has taken over in flight (a pilot, a ground station), Skein sends nothing until a person
    resumes it: set this to the number in status.takeovers, or run `skein resume`.
    """

    station: Station | None = None
    """Place at which the vehicle holds. It flies there once the airspace on its way is free, and comes home to land
    when the Drone is deleted or its node is drained. Leave it out to hold above home, at takeoffAltitudeMeters.
    """

    takeoff_altitude_meters: Annotated[float, Field(ge=1, le=120)] = 10.0
    """Altitude at which the vehicle holds, in meters above its home position (MAVLink: relative altitude). 1 to 120,
    10 when left out.
    """


class ArmingRefusal(Model):
    """One reason why the autopilot does not arm."""

    class_: str = Field(alias="class")
    """WillHeal (it goes away by itself), NeedsHuman (a person has to act) or Unclear."""

    message: str
    """In the autopilot's own words."""

    code: int | None = None
    """The autopilot's number for it: the id of PX4's EVENT; absent for a text."""

    since: datetime | None = None
    """When the autopilot first reported it since the vehicle was last ready."""


class Battery(Model):
    """Battery, as of observedTime: the last write of this status, which a change by 25 percent causes too. Absent
    while the vehicle is not observed. For live figures use `skein watch`.
    """

    observed_time: datetime | None = None
    """When the autopilot reported it."""

    remaining_percent: int | None = None
    """Remaining energy in percent, 0 to 100; absent when the autopilot does not know."""


class Position(Model):
    """Position, as of the last write of this status. For live figures use `skein watch`."""

    altitude_above_home_meters: float
    """Meters above the home position."""

    latitude_degrees: float
    """Degrees, WGS 84, north positive."""

    longitude_degrees: float
    """Degrees, WGS 84, east positive."""


class DroneVehicle(Model):
    """The vehicle of the Drone; absent until something is received from its autopilot."""

    autopilot: str
    """Autopilot stack: ArduPilot or PX4."""

    system_id: int
    """MAVLink system id, 1 to 255."""

    firmware: str | None = None
    """Firmware version; absent until the autopilot reported it."""

    hardware_uid: str | None = None
    """The number of the autopilot's hardware: AUTOPILOT_VERSION.uid2 as 36 hexadecimal digits, else .uid as 16; absent
    until the autopilot reported it, and for hardware that has none. A Drone stays with this airframe: another one
    on the same wire is not flown for it.
    """


class DroneStatus(Status):
    """What is known of a Drone, written by the coordinator from the agent's reports only."""

    arming_refusals: list[ArmingRefusal] | None = None
    """Why the autopilot does not arm, one by one; absent while its arming checks pass."""

    battery: Battery | None = None
    """Battery, as of observedTime: the last write of this status, which a change by 25 percent causes too. Absent
    while the vehicle is not observed. For live figures use `skein watch`.
    """

    flight: str | None = None
    """How far the flight has come since the Drone was last ordered to the ground: Flown (the vehicle was in the air),
    Over (it landed without an order and stays on the ground) or Killed; absent before. An agent that has lost its
    disk uses it.
    """

    flying: bool | None = None
    """Whether the vehicle flies, as its own autopilot reports: armed and not on the ground. Absent while unknown."""

    mode: str | None = None
    """Flight mode, as the autopilot names it, such as GUIDED or AUTO.LOITER."""

    node_name: str | None = None
    """Node whose vehicle serves this Drone."""

    phase: str | None = None
    """What the Drone is doing: Pending (no vehicle yet), Preparing (bound, not armed), Arming, TakingOff, Flying,
    Landing, Grounded (landed by order), Interrupted (somebody else is in command, see the Ready condition) or
    Unknown (the state of the vehicle is not known at present).
    """

    position: Position | None = None
    """Position, as of the last write of this status. For live figures use `skein watch`."""

    preflight_warnings: list[str] | None = None
    """Faults that preflight found in the autopilot's own failsafes, and what is wrong with what its batteries report,
    each with what to do.
    """

    takeovers: int | None = None
    """How often somebody else has taken over this Drone's vehicle in flight; absent when never. Skein commands the
    vehicle again once spec.resumeAfterTakeovers is at least this number.
    """

    vehicle: DroneVehicle | None = None
    """The vehicle of the Drone; absent until something is received from its autopilot."""


class Drone(Resource[DroneSpec, DroneStatus]):
    """A Drone asks for one vehicle in the air. The coordinator binds it to one free drone node, whose vehicle arms,
    takes off and holds. Deleting the Drone lands the vehicle; the object is gone once its autopilot reports it
    landed and disarmed.
    """

    KIND: ClassVar[str] = "Drone"
    PLURAL: ClassVar[str] = "drones"
    NAMESPACED: ClassVar[bool] = True

    kind: str = "Drone"


class MatchExpression(Model):
    """A label selector requirement is a selector that contains values, a key, and an operator that relates the key and
    values.
    """

    key: str
    """key is the label key that the selector applies to."""

    operator: str
    """operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and
    DoesNotExist.
    """

    values: list[str] | None = None
    """values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the
    operator is Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic
    merge patch.
    """


class VehicleSelector(Model):
    """Which vehicles it holds for: labels of the Vehicle, and those of its Node where the Vehicle has none of that
    key. An empty selector selects all.
    """

    match_expressions: list[MatchExpression] | None = None
    """matchExpressions is a list of label selector requirements. The requirements are ANDed."""

    match_labels: dict[str, str] | None = None
    """matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an
    element of matchExpressions, whose key field is "key", the operator is "In", and the values array contains only
    "value". The requirements are ANDed.
    """


class Place(Model):
    """Its center."""

    latitude_degrees: Annotated[float, Field(ge=-90, le=90)]
    """Degrees, WGS 84, north positive."""

    longitude_degrees: Annotated[float, Field(ge=-180, le=180)]
    """Degrees, WGS 84, east positive."""


class Circle(Model):
    """A circle."""

    center: Place
    """Its center."""

    radius_meters: Annotated[float, Field(ge=5, le=20000)]
    """Its radius in meters, 5 to 20,000."""


class Exclusion(Model):
    """A polygon or a circle."""

    circle: Circle | None = None
    """A circle."""

    polygon: list[Place] | None = None
    """Its corners, in their order around it, the last not equal to the first."""


class Window(Model):
    """A span of time."""

    from_: datetime | None = Field(default=None, alias="from")
    """Its start; without it, the window has begun."""

    until: datetime | None = None
    """Its end; without it, the window does not end."""


class GeofenceSpec(Model):
    """Where the selected vehicles may be."""

    vehicle_selector: VehicleSelector
    """Which vehicles it holds for: labels of the Vehicle, and those of its Node where the Vehicle has none of that
    key. An empty selector selects all.
    """

    breach: Literal["Warn", "Hold", "Return", "Land"] = "Return"
    """What the autopilot does when its vehicle leaves the fence: Warn, Hold, Return (the default) or Land. Of several
    Geofences that select one vehicle the last in this order counts.
    """

    ceiling_meters: Annotated[float, Field(ge=10, le=3000)] | None = None
    """The vehicle has to be below this, in meters above its home position. 10 to 3000."""

    exclude: list[Exclusion] | None = None
    """The vehicle has to be outside all of these."""

    floor_meters: Annotated[float, Field(ge=1, le=1000)] | None = None
    """The vehicle has to be above this once it has climbed above it, in meters above its home position. 1 to 1000. PX4
    keeps no floor: with one, no PX4 vehicle can be selected.
    """

    include: list[Exclusion] | None = None
    """The vehicle has to be inside all of these."""

    windows: list[Window] | None = None
    """When it holds. Always when left out. The autopilot takes it over on the ground only: begin before the flight."""


class Unsettled(Model):
    """A vehicle on which rules are not in force."""

    name: str
    """Name of the Vehicle."""

    reason: str
    """One word: why."""

    message: str | None = None
    """Why, and what to do, as a sentence."""


class GeofenceStatus(Status):
    """On how many vehicles it is in force, written by the coordinator."""

    in_force: int | None = None
    """Vehicles on which it is in force: read back from the autopilot, and not discarded by it."""

    selected: int | None = None
    """Vehicles that it selects."""

    unsettled: list[Unsettled] | None = None
    """Vehicles that it selects and on which it is not in force, the first 32 by name."""


class Geofence(Resource[GeofenceSpec, GeofenceStatus]):
    """A Geofence says where vehicles may be: inside all its inclusions, outside all its exclusions, below its ceiling
    and above its floor. It is stored on their autopilots, read back, and in force only then. Several that select
    one vehicle all hold for it.
    """

    KIND: ClassVar[str] = "Geofence"
    PLURAL: ClassVar[str] = "geofences"
    NAMESPACED: ClassVar[bool] = False

    kind: str = "Geofence"


class GroundOrderSpec(Model):
    """What was ordered. It is never changed."""

    scope: Literal["All", "Selector", "Swarm", "Drone", "Node"]
    """What it covers: All, Selector, Swarm, Drone or Node."""

    id: str | None = None
    """Its number, which agents keep on their disk until the order is recorded here."""

    namespace: str | None = None
    """Namespace of the Swarm or Drone, or the only one in which the selector selects."""

    nodes: list[str] | None = None
    """Nodes whose vehicles served what it was given for. They serve no other Drone until it is released."""

    objects: list[str] | None = None
    """What a selector selected when it was given, as Swarm/NAMESPACE/NAME or Drone/NAMESPACE/NAME. It stays covered if
    its labels change.
    """

    ordered_at: datetime | None = None
    """When it was given."""

    ordered_by: str | None = None
    """Who gave it."""

    target: str | None = None
    """Name of the Swarm, Drone or node, or the label selector. Empty for All."""


class GroundOrderStatus(Status):
    """What was released of it, written by the coordinator."""

    exceptions: list[str] | None = None
    """What was released of it: uids of Swarms and Drones, and names of nodes. The rest stays covered."""


class GroundOrder(Resource[GroundOrderSpec, GroundOrderStatus]):
    """A GroundOrder keeps on the ground the vehicles of everything that it covers, including what is created or edited
    later. `skein ground` creates one, and only `skein release` ends it; deleting the object does not.
    """

    KIND: ClassVar[str] = "GroundOrder"
    PLURAL: ClassVar[str] = "groundorders"
    NAMESPACED: ClassVar[bool] = False

    kind: str = "GroundOrder"


class Handover(Model):
    """Where a vehicle gives over to another. Leave it out for the defaults."""

    at: Literal["Waypoint"] = "Waypoint"
    """Waypoint (the default): a tired vehicle flies on to the next waypoint."""

    overlap_seconds: Annotated[int, Field(ge=0, le=600)] | None = None
    """How many seconds of its work the next vehicle flies once more, 0 to 600; 0 when left out."""


class ConfigMapKeyRef(Model):
    """The file: a .plan of QGroundControl, or QGC WPL 110."""

    key: str
    """The key in its data."""

    name: str
    """The ConfigMap."""


class PlanFrom(Model):
    """A mission that a ground station has written, whose items are flown unchanged."""

    config_map_key_ref: ConfigMapKeyRef
    """The file: a .plan of QGroundControl, or QGC WPL 110."""


class WaypointAction(Model):
    """What is done at a place."""

    type: Literal["Photo", "PhotoEvery", "EndPhotos"]
    """Photo (one photo), PhotoEvery (a photo now and each time that distanceMeters are flown) or EndPhotos (end that)."""

    distance_meters: Annotated[float, Field(gt=0, le=1000)] | None = None
    """From one photo to the next, in meters, above 0 and up to 1000."""


class Waypoint(Model):
    """A place of a route."""

    altitude_meters: float
    """Altitude in meters, measured from what altitudeReference names. Above home: 1 to 120."""

    latitude_degrees: Annotated[float, Field(ge=-90, le=90)]
    """Degrees, WGS 84, north positive."""

    longitude_degrees: Annotated[float, Field(ge=-180, le=180)]
    """Degrees, WGS 84, east positive."""

    actions: list[WaypointAction] | None = None
    """What is done there, in this order, at most 20."""

    altitude_reference: Literal["AboveHome", "AboveMeanSeaLevel"] | None = None
    """What altitudeMeters is measured from: AboveHome (the default) or AboveMeanSeaLevel."""

    heading_degrees: Annotated[float, Field(ge=0, lt=360)] | None = None
    """Where the nose points there, in degrees clockwise from true north, from 0 up to 360. When left out, the
    autopilot decides.
    """

    hold_seconds: Annotated[float, Field(ge=0, le=3600)] | None = None
    """How many seconds the vehicle holds there, 0 to 3600; 0 when left out."""

    speed_meters_per_second: Annotated[float, Field(gt=0, le=20)] | None = None
    """How fast it is flown to over ground, in meters per second, above 0 and up to 20. When left out: as to the place
    before, and to the first as the autopilot decides.
    """


class Route(Model):
    """Places that are flown one after the other."""

    waypoints: list[Waypoint]
    """The places, 1 to 1000."""


class Hole(Model):
    """A part of an area that is neither covered nor crossed."""

    polygon: list[Place]
    """Its corners in the order of a walk around it, 3 to 500."""


class Area(Model):
    """What is covered."""

    polygon: list[Place]
    """Its corners in the order of a walk around it, 3 to 500."""

    holes: list[Hole] | None = None
    """Parts of it that are neither covered nor crossed, at most 50."""


class Camera(Model):
    """The camera, which sets how far lines and photos are apart. Give this or lineSpacingMeters."""

    focal_length_millimeters: Annotated[float, Field(gt=0, le=1000)]
    """Focal length, in millimeters, above 0 and up to 1000."""

    sensor_height_millimeters: Annotated[float, Field(gt=0, le=100)]
    """Height of its sensor, in millimeters, above 0 and up to 100."""

    sensor_width_millimeters: Annotated[float, Field(gt=0, le=100)]
    """Width of its sensor, in millimeters, above 0 and up to 100."""

    front_overlap_percent: Annotated[int, Field(ge=0, le=95)] = 70
    """How much one photo overlaps with the next, in percent, 0 to 95; 70 when left out."""

    side_overlap_percent: Annotated[int, Field(ge=0, le=95)] = 70
    """How much photos of neighboring lines overlap, in percent, 0 to 95; 70 when left out."""


class Survey(Model):
    """An area that is flown over so that all of it is covered."""

    altitude_meters: float
    """Altitude in meters, measured from what altitudeReference names. Above home: 1 to 120."""

    area: Area
    """What is covered."""

    altitude_reference: Literal["AboveHome", "AboveMeanSeaLevel"] | None = None
    """What altitudeMeters is measured from: AboveHome (the default) or AboveMeanSeaLevel."""

    camera: Camera | None = None
    """The camera, which sets how far lines and photos are apart. Give this or lineSpacingMeters."""

    center: Place | None = None
    """Where an ExpandingSquare begins; in the middle of the area when left out."""

    heading_degrees: Annotated[float, Field(ge=0, lt=360)] | None = None
    """Where lines run, in degrees clockwise from true north, from 0 up to 360; for ExpandingSquare its first leg. When
    left out: so that there are the fewest lines; for ExpandingSquare north.
    """

    line_spacing_meters: Annotated[float, Field(ge=1, le=1000)] | None = None
    """From one line to the next, in meters, 1 to 1000. Give this or camera."""

    pattern: Literal["Lines", "ExpandingSquare"] = "Lines"
    """Lines (the default: parallel lines, there and back) or ExpandingSquare (around center, farther and farther out)."""

    photo_distance_meters: Annotated[float, Field(ge=0.1, le=1000)] | None = None
    """A photo each time that so many meters of a line are flown, 0.1 to 1000. Leave it out for no photos."""

    speed_meters_per_second: Annotated[float, Field(gt=0, le=20)] = 5.0
    """How fast lines are flown over ground, in meters per second, above 0 and up to 20; 5 when left out."""


class MissionSpec(Model):
    """What the Mission asks for: a route, a survey or a plan of a ground station, and how it is shared among vehicles."""

    active_deadline_seconds: Annotated[int, Field(ge=60, le=2.592e06)] | None = None
    """After how many seconds from its start the Mission fails and its vehicles come home, 60 to 2592000. Leave it out
    for no limit.
    """

    altitude_step_meters: Annotated[float, Field(ge=0, le=100)] | None = None
    """By how much each further vehicle flies higher than the one below it, in meters, 0 to 100; 0 when left out. Parts
    of the work meet where they were cut, so vehicles at one altitude fly one after the other; with 10 or more they
    fly at once (15 on PX4).
    """

    backoff_limit: Annotated[int, Field(ge=0, le=100)] = 6
    """How often a vehicle may fail to fly its part before the Mission fails, 0 to 100; 6 when left out."""

    completions: Annotated[int, Field(ge=1, le=1000)] = 1
    """How often the whole work is flown, 1 to 1000; 1 when left out."""

    failsafe: Failsafe | None = None
    """What a vehicle does by itself when something goes wrong. Leave it out for the defaults."""

    handover: Handover | None = None
    """Where a vehicle gives over to another. Leave it out for the defaults."""

    node_selector: dict[str, str] | None = None
    """Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to fly in this Mission."""

    parallelism: Annotated[int, Field(ge=1, le=100)] = 1
    """How many vehicles share the work at once, 1 to 100; 1 when left out."""

    plan_from: PlanFrom | None = None
    """A mission that a ground station has written, whose items are flown unchanged."""

    priority: Annotated[int, Field(ge=-1000, le=1000)] | None = None
    """Which Mission of a namespace gets a vehicle first, -1000 to 1000; the higher one. It orders nothing between
    namespaces. 0 when left out.
    """

    repeat: Literal["Once", "Forever"] = "Once"
    """Once (the default: the Mission completes) or Forever (a patrol: it begins again each time)."""

    route: Route | None = None
    """Places that are flown one after the other."""

    survey: Survey | None = None
    """An area that is flown over so that all of it is covered."""

    suspend: bool | None = None
    """Set to true to bring its vehicles home; what they have flown counts when it is set to false again."""

    ttl_seconds_after_finished: Annotated[int, Field(ge=0, le=3.1536e07)] | None = None
    """How many seconds after its end the object is deleted, 0 to 31536000. Leave it out to keep it."""


class Flown(Model):
    """From one position to another. The whole number of a position counts the points of the way, which begins at 0;
    the rest is the share of the way to the next.
    """

    from_: float = Field(alias="from")
    """Where it begins."""

    to: float
    """Where it ends."""


class NotFlown(Model):
    """A part of the work that was not flown."""

    begins: Place
    """Where it begins."""

    ends: Place
    """Where it ends."""

    range: Flown
    """Which positions."""


class Plan(Model):
    """The plan that was made of it. It stays as given, whatever the spec says later."""

    digest: str
    """Names its items: 32 hexadecimal digits."""

    raised_meters: float
    """How much higher it is flown than the work lies, meters."""


class Relief(Model):
    """Who takes over from it before it leaves."""

    drone: str
    """The Drone that takes over."""

    from_: float = Field(alias="from")
    """The position up to which the one that leaves flies in any case."""

    beside: bool | None = None
    """True when it has joined while all of the work was assigned to other Drones: it counts as one more that flies at
    once.
    """


class Part(Model):
    """What one Drone flies."""

    drone: str
    """The Drone."""

    ranges: list[Flown]
    """Its part of the work."""

    start: Place
    """Where it took off, or is to."""

    ahead: bool | None = None
    """True when it is a part of a later time that all is flown: it is begun before this time is over."""

    flown: list[Flown] | None = None
    """What of that it had flown when this was written."""

    layer: int | None = None
    """How many altitudeStepMeters higher it flies than the work lies."""

    passed_beside: int | None = None
    """How many of its places the vehicle passed beside by this plan."""

    passed_beside_by_meters: float | None = None
    """How far away it passed the worst of them, in meters."""

    plan: Plan | None = None
    """The plan that was made of it. It stays as given, whatever the spec says later."""

    relief: Relief | None = None
    """Who takes over from it before it leaves."""

    rounds_ahead: int | None = None
    """Of one that is ahead: 1 when it is a part of the next time, 2 of the time after that. 0 counts as 1."""


class RefusedVehicle(Model):
    """A vehicle whose autopilot has refused a plan."""

    message: str
    """Why, the last time, in the words of its autopilot."""

    node: str
    """The node of the vehicle."""

    times: int
    """How often in a row."""


class MissionStatus(Status):
    """How far a Mission has come, written by the coordinator."""

    completed: int = 0
    """How often all of the work has been flown."""

    completion_time: datetime | None = None
    """When it completed or failed."""

    done: str | None = None
    """How much of the work has been flown this time, such as 40%: written at each quarter, and when a vehicle begins
    or ends its part. For live figures see the positions of the Drones.
    """

    estimated_completion_time: datetime | None = None
    """When all is flown, as of the last write of this status: in calm air, and if all goes well."""

    failures: int = 0
    """How often a vehicle failed to fly its part."""

    flown: list[Flown] | None = None
    """What has been flown of it this time, by vehicles that have no part any more."""

    not_flown: list[NotFlown] | None = None
    """Of a Mission that has failed: what was not flown, the first 20 ranges."""

    parts: list[Part] | None = None
    """Who flies what of it."""

    passed_beside: int = 0
    """How many places a vehicle passed farther away than it was to."""

    passed_beside_by_meters: float | None = None
    """How far away the worst of them was passed, in meters."""

    refused: list[RefusedVehicle] | None = None
    """Vehicles whose autopilots have refused a plan of this Mission. Each is left alone for 10 s, then 20 s, and so on
    up to 6 minutes, and after that is taken where no other will do. One that flies its part is not listed any more.
    """

    start_time: datetime | None = None
    """When the first Drone was asked for."""

    vehicles: int = 0
    """Vehicles that have a part of the work."""

    work: str | None = None
    """Names the work that positions below are positions of. The work of a Mission that has begun cannot change."""


class Mission(Resource[MissionSpec, MissionStatus]):
    """A Mission is work in the air that completes: a route or a survey, flown by one vehicle or shared among several.
    Deleting it brings its vehicles home, and the object is gone once all its Drones are.
    """

    KIND: ClassVar[str] = "Mission"
    PLURAL: ClassVar[str] = "missions"
    NAMESPACED: ClassVar[bool] = True

    kind: str = "Mission"


class EuropeanClass(Model):
    """Where the flights are classified by the rules of the European Union; left out elsewhere."""

    category: Literal["Open", "Specific", "Certified"]
    """The category of the flights: Open, Specific or Certified."""

    class_: Annotated[int, Field(ge=0, le=6)] | None = Field(default=None, alias="class")
    """The class of the aircraft, 0 to 6 for C0 to C6; only in category Open."""


class OperatorLocation(Model):
    """Where the operator is."""

    altitude_meters: Annotated[float, Field(gt=-1000, le=31767)] | None = None
    """Meters above the WGS 84 ellipsoid, not above sea level; left out: not known."""

    latitude_degrees: Annotated[float, Field(ge=-90, le=90)] | None = None
    """Degrees, WGS 84, north positive."""

    longitude_degrees: Annotated[float, Field(ge=-180, le=180)] | None = None
    """Degrees, WGS 84, east positive."""

    source: Literal["Takeoff", "Fixed"] = "Takeoff"
    """Takeoff (the default): where each vehicle takes off, its home position. Fixed: the coordinates below."""


class OperatorSpec(Model):
    """Who operates the selected vehicles."""

    id: str
    """The operator's registration with the aviation authority, as it is to be broadcast: 1 to 20 printable characters
    of ASCII. In the European Union without the hyphen and the three secret characters at its end.
    """

    vehicle_selector: VehicleSelector
    """Which vehicles it is for: labels of the Vehicle, and those of its Node where the Vehicle has none of that key.
    An empty selector selects all.
    """

    description: str | None = None
    """What the flights are for, in words for everybody who receives them (MAVLink: SELF_ID): up to 23 printable
    characters of ASCII.
    """

    eu: EuropeanClass | None = None
    """Where the flights are classified by the rules of the European Union; left out elsewhere."""

    id_type: Literal["CAA"] = "CAA"
    """What kind of id that is. Remote ID knows one: CAA, a registration with an aviation authority."""

    location: OperatorLocation = Field(default_factory=OperatorLocation)
    """Where the operator is."""

    uas_id_type: Literal["SerialNumber", "Registration"] = "SerialNumber"
    """What label `skein.dev/uas-id` of a Vehicle or its Node is: SerialNumber (the default, ANSI/CTA-2063-A) or
    Registration. A vehicle without the label is sent no id of its own: its transmitter or its autopilot has to know
    it.
    """


class OperatorStatus(Status):
    """To how many vehicles it is sent, written by the coordinator."""

    selected: int | None = None
    """Vehicles that it selects."""

    sent: int | None = None
    """Vehicles whose agents send it to their autopilots every second."""

    unsettled: list[Unsettled] | None = None
    """Vehicles that it selects and to whose autopilots it is not sent, or whose transmitters are not good to arm, the
    first 32 by name.
    """


class Operator(Resource[OperatorSpec, OperatorStatus]):
    """An Operator says who operates vehicles and from where. The agents of the vehicles that it selects send it to
    their autopilots every second, as Remote ID requires. Two that select one vehicle are both refused for it.
    """

    KIND: ClassVar[str] = "Operator"
    PLURAL: ClassVar[str] = "operators"
    NAMESPACED: ClassVar[bool] = False

    kind: str = "Operator"


class Settings(Model):
    """Values by meaning, each in the unit of its name: the agent sets each under the name and in the unit that its
    autopilot has for it, whichever stack and version that is. What has no setting here is set by its name, below.
    """

    climb_speed_meters_per_second: str | None = None
    """Speed of a climb, m/s: 0.2 to 15."""

    descent_speed_meters_per_second: str | None = None
    """Speed of a descent, m/s: 0.2 to 15."""

    ground_station_loss_seconds: str | None = None
    """Time without a heartbeat of a ground station, which an agent sends, after which it counts as lost, seconds: 1 to
    300.
    """

    landing_speed_meters_per_second: str | None = None
    """Speed of a landing just above the ground, m/s: 0.2 to 3."""

    on_ground_station_loss: Literal["Return", "Land"] | None = None
    """What an autopilot does by itself."""

    on_low_battery: Literal["Return", "Land"] | None = None
    """What an autopilot does by itself."""

    on_remote_control_loss: Literal["Return", "Land"] | None = None
    """What an autopilot does by itself."""

    return_altitude_meters: str | None = None
    """Altitude to which a return climbs, meters above home: 2 to 500, or 0 for the altitude that the vehicle has."""

    waypoint_radius_meters: str | None = None
    """Distance from a waypoint at which it counts as reached, meters: 0.1 to 50. Routes and Missions are kept clear of
    others for 2.
    """

    waypoint_speed_meters_per_second: str | None = None
    """Speed over ground between places, m/s: 0.3 to 30."""


class ParameterProfileSpec(Model):
    """Which values."""

    vehicle_selector: VehicleSelector
    """Which vehicles it holds for: labels of the Vehicle, and those of its Node where the Vehicle has none of that
    key. An empty selector selects all.
    """

    ardupilot: dict[str, str] | None = None
    """Values for ArduPilot, by name: a number such as "1500", or an expression such as "{{ 1500 + 500*slot }}" with
    the variables slot (of the Drone that the vehicle serves), number (the label skein.dev/number) and systemId.
    """

    enforce: Literal["Apply", "Report"] = "Report"
    """What is done about other values: Report (the default: they are reported) or Apply (they are set, on the ground
    and disarmed).
    """

    max_unavailable: Annotated[int, Field(ge=1, le=1000)] = 1
    """On how many vehicles at a time values are changed. 1 to 1000, 1 when left out. One that refuses a value stops
    all that would follow; one whose autopilot has no parameter of a name does not.
    """

    precedence: Annotated[int, Field(ge=-1000, le=1000)] = 0
    """Of several profiles that name a parameter, the one with the higher number wins. -1000 to 1000, 0 when left out.
    Two with the same number that want different values are a conflict, and neither is set.
    """

    px_4: dict[str, str] | None = None
    """Values for PX4, by name, written in the same way."""

    reboot: Literal["Never", "WhenIdle"] = "Never"
    """Whether an autopilot may be rebooted for a value that counts only then: Never (the default) or WhenIdle."""

    settings: Settings | None = None
    """Values by meaning, each in the unit of its name: the agent sets each under the name and in the unit that its
    autopilot has for it, whichever stack and version that is. What has no setting here is set by its name, below.
    """


class ParameterProfileStatus(Status):
    """How many vehicles have the values, written by the coordinator."""

    in_force: int | None = None
    """Vehicles that have all its values: read back from the autopilot."""

    selected: int | None = None
    """Vehicles that it selects."""

    unsettled: list[Unsettled] | None = None
    """Vehicles that it selects and that do not have all its values, the first 32 by name."""


class ParameterProfile(Resource[ParameterProfileSpec, ParameterProfileStatus]):
    """A ParameterProfile says which values autopilot parameters of vehicles are to have. They are set on the ground,
    on a few vehicles at a time, and count only when they were read back. Calibrations, ids and statistics cannot be
    set this way.
    """

    KIND: ClassVar[str] = "ParameterProfile"
    PLURAL: ClassVar[str] = "parameterprofiles"
    NAMESPACED: ClassVar[bool] = False

    kind: str = "ParameterProfile"


class Formation(Model):
    """Places that the Swarm keeps covered, one for each replica. Its Drones take off, fly to them and hold there;
    change it, and they fly on. Leave it out to hold each above its home.
    """

    shape: Literal["Points", "Line", "Column", "Grid", "Circle", "Vee"]
    """Points (the places of points), or a shape around the anchor: Line (abreast), Column (one behind the other), Grid
    (rows of columns), Circle (evenly around it) or Vee (two arms that open backward).
    """

    altitude_step_meters: Annotated[float, Field(ge=-100, le=100)] | None = None
    """How much higher each next place, row or slot is, in meters, -100 to 100; 0 when left out."""

    anchor: Station | None = None
    """Where the shape is: slot 0 of Line, Column and Vee, the middle of the front row of Grid, the center of Circle."""

    columns: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Slots to a row, 1 to 1000, for shape Grid."""

    half_angle_degrees: Annotated[float, Field(ge=1, le=89)] | None = None
    """From the line of flight to each arm, in degrees, 1 to 89, for shape Vee; 45 when left out."""

    heading_degrees: Annotated[float, Field(ge=0, lt=360)] | None = None
    """Which way the shape faces, in degrees clockwise from north, from 0 up to 360; 0 when left out."""

    points: list[Station] | None = None
    """The place of each slot, 1 to 1000 of them, for shape Points. There may be more than replicas."""

    spacing_meters: Annotated[float, Field(gt=0, le=10000)] | None = None
    """From one slot to the next, in meters over ground, up to 10000. The coordinator says how far apart slots must be."""

    tolerance_meters: Annotated[float, Field(ge=1, le=1000)] | None = None
    """A vehicle covers its slot when it is no farther from the place than this, in meters over ground and in altitude,
    1 to 1000. When left out: 2 over ground, 1.5 in altitude. Give as much as the work allows: a vehicle that
    relieves another holds beside it first, and covers the slot from there if that is near enough.
    """


class SwarmTemplateMetadata(Model):
    """Labels and annotations that each Drone gets."""

    annotations: dict[str, str] | None = None
    """Annotations for each Drone."""

    labels: dict[str, str] | None = None
    """Labels for each Drone. The coordinator always sets skein.dev/swarm itself."""


class SwarmTemplateSpec(Model):
    """Spec that each Drone gets. Leave it out for the defaults."""

    failsafe: Failsafe | None = None
    """What each vehicle does by itself when something goes wrong. Leave it out for the defaults."""

    node_selector: dict[str, str] | None = None
    """Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to serve a Drone of this
    Swarm.
    """

    takeoff_altitude_meters: Annotated[float, Field(ge=1, le=120)] = 10.0
    """Altitude at which each vehicle holds, in meters above its home position (MAVLink: relative altitude). 1 to 120,
    10 when left out.
    """


class SwarmTemplate(Model):
    """Labels, annotations and spec of each Drone of the Swarm. Leave it out for the defaults."""

    metadata: SwarmTemplateMetadata | None = None
    """Labels and annotations that each Drone gets."""

    spec: SwarmTemplateSpec = Field(default_factory=SwarmTemplateSpec)
    """Spec that each Drone gets. Leave it out for the defaults."""


class SwarmSpec(Model):
    """What the Swarm asks for. All of it can be left out: `spec: {}` is one Drone with the defaults."""

    formation: Formation | None = None
    """Places that the Swarm keeps covered, one for each replica. Its Drones take off, fly to them and hold there;
    change it, and they fly on. Leave it out to hold each above its home.
    """

    grounded: bool | None = None
    """Set to true to land all vehicles of the Swarm and keep them on the ground; the Drones keep their vehicles. Set
    to false (or leave out) to let them fly. `skein ground` and `skein release` set it. False ends no ground order:
    only `skein release` does, see `kubectl get groundorders`.
    """

    max_surge: Annotated[int, Field(ge=0, le=100)] = 1
    """How many Drones there may be beyond replicas while others are replaced, 0 to 100; 1 when left out. Never more
    than replicas and maxSurge together are in the air.
    """

    max_unavailable: Annotated[int, Field(ge=0, le=10000)] = 1
    """How many of the replicas may be missing, for any reason, when a vehicle is ordered to land for a drained or
    cordoned node and no other vehicle is free, 0 to 10000; 1 when left out. A Swarm that already lacks more lands
    none for that: raise this number, or ground the Drone.
    """

    node_selector: dict[str, str] | None = None
    """Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to fly in this Swarm.
    Added to the template's own nodeSelector.
    """

    on_cordon: Literal["Continue", "Land"] = "Continue"
    """What a cordon does to vehicles in the air: Continue (the default: they go on) or Land (they land in an orderly
    way, replaced first where that is possible, within maxUnavailable). With both values a cordon keeps a vehicle on
    the ground that is there, and the taint skein.dev/ground:NoExecute lands a vehicle in the air.
    """

    replace_lost_after_seconds: Annotated[int, Field(ge=60, le=86400)] | None = None
    """After how many seconds in which the state of a vehicle is unknown another flies in its place, 60 to 86400. Leave
    it out to never do so. The lost one stays bound to its Drone; when its state is known again, the Swarm has one
    too many and lands one.
    """

    replicas: Annotated[int, Field(ge=0, le=10000)] = 1
    """How many Drones fly, 0 to 10000; 1 when left out. Change it with `kubectl scale`."""

    rotate_at_percent: Annotated[int, Field(ge=5, le=95)] | None = None
    """Remaining battery, in percent, at or below which a flying vehicle is replaced: another takes off, then it lands.
    5 to 95; 10 above failsafe.reservePercent when left out. Where no other vehicle is free it flies on until its
    reserve.
    """

    takeoff_interval_seconds: Annotated[int, Field(ge=0, le=600)] | None = None
    """Seconds from one takeoff of the Swarm to the next, so that neighbors do not take off together, 0 to 600; 0 when
    left out.
    """

    template: SwarmTemplate = Field(default_factory=SwarmTemplate)
    """Labels, annotations and spec of each Drone of the Swarm. Leave it out for the defaults."""


class Slot(Model):
    """One slot of a formation, as the coordinator knows it."""

    covered: bool
    """Whether a vehicle of the Swarm is on station there."""

    slot: int
    """Its number, from 0."""

    drone: str | None = None
    """The Drone that was given the slot; while another relieves it, the one that covers it."""

    message: str | None = None
    """Why it is not covered."""

    off_meters: float | None = None
    """How far its vehicle is from the place over ground, in meters, as of the last write of this status; absent while
    that is not known. For live figures use `skein watch`.
    """

    since: datetime | None = None
    """Since when it is covered or not covered."""


class SwarmStatus(Status):
    """What is known of a Swarm, written by the coordinator."""

    assigned_drones: int = 0
    """Drones of this Swarm that have a vehicle."""

    covered_slots: int | None = None
    """Slots of the formation at which a vehicle is on station; absent without a formation."""

    drone_names: list[str] | None = None
    """Names of this Swarm's Drones, sorted; at most the first 100 of them."""

    flying_drones: int = 0
    """Drones of this Swarm whose own autopilot reports that they fly."""

    replicas: int = 0
    """Drones of this Swarm that exist, those that are landing to be removed included."""

    selector: str | None = None
    """Label selector of this Swarm's Drones, for `kubectl get drones -l` and autoscalers."""

    slots: list[Slot] | None = None
    """The slots of the formation, at most the first 100 of them."""

    unknown_drones: int = 0
    """Drones of this Swarm that have a vehicle and of which it is not known whether they fly: nothing is received from
    the agent, or from the autopilot.
    """


class Swarm(Resource[SwarmSpec, SwarmStatus]):
    """A Swarm keeps a number of Drones in the air. Scale it with `kubectl scale`; deleting it lands all its vehicles,
    and the object is gone once all its Drones are.
    """

    KIND: ClassVar[str] = "Swarm"
    PLURAL: ClassVar[str] = "swarms"
    NAMESPACED: ClassVar[bool] = True

    kind: str = "Swarm"


class VehicleSpec(Model):
    """Which airframe it is. It never changes."""

    node_name: str
    """Name of the node whose agent observes it."""

    hardware_uid: str | None = None
    """The number of the autopilot's hardware: AUTOPILOT_VERSION.uid2 as 36 hexadecimal digits, else .uid as 16; absent
    for hardware that has none. Another number on the same wire is another Vehicle.
    """


class BatteryWear(Model):
    """How worn its battery is, of several that which is worn most; absent where no battery reports it (MAVLink:
    BATTERY_INFO).
    """

    cycles: int | None = None
    """Charge cycles; absent when not known."""

    health_percent: int | None = None
    """What it still holds of what it held when it was new, percent; absent when not known."""


class Board(Model):
    """The kind of its autopilot's board; absent where the autopilot does not know, as a simulated one."""

    number: int | None = None
    """The number that ArduPilot and PX4 give to this kind of board."""

    usb: str | None = None
    """USB vendor and product, as 26ac:0011."""


class Home(Model):
    """Where it took off last, or will: its home position (MAVLink: HOME_POSITION)."""

    altitude_meters: float
    """Meters above mean sea level."""

    latitude_degrees: float
    """Degrees, WGS 84, north positive."""

    longitude_degrees: float
    """Degrees, WGS 84, east positive."""


class OtherBatterie(Model):
    """A battery that does not drive the motors."""

    drives: str
    """Avionics or Payload, as its autopilot says, or Other, by the ids that the agent was given (--motor-batteries)."""

    id: int
    """Its number, from 0 (MAVLink: BATTERY_STATUS.id; ArduPilot's BATT2 is 1)."""

    remaining_percent: int | None = None
    """Remaining energy in percent, 0 to 100; absent when not known."""


class RemoteId(Model):
    """Its Remote ID; absent while no Operator selects it and no transmitter of its own was heard."""

    operator: str | None = None
    """The Operator that selects it; absent when none does, or several do."""

    ready: bool | None = None
    """Whether its operator is sent to its autopilot and its transmitter is good to arm; absent where no transmitter
    was heard.
    """

    reason: str | None = None
    """Why, or why not, as a sentence."""


class RuleValue(Model):
    """A value of a parameter that was sent to an agent."""

    name: str
    """The parameter."""

    value: str
    """The value, written so that it reads as the same."""

    any_name: bool | None = None
    """Whether its agent sets it under the name and in the unit that its autopilot has for it."""

    apply: bool = False
    """Whether it is set, or only reported."""

    reboot: bool = False
    """Whether the autopilot may be rebooted for it."""


class Rules(Model):
    """The rules of Geofences and ParameterProfiles for it; absent while none selects it and none of ours are left on
    it.
    """

    changing: bool | None = None
    """Whether values are being changed on it, so that it counts against spec.maxUnavailable of its ParameterProfiles."""

    digest: str | None = None
    """Digest of what it is to have: equal digest, equal rules. 32 hexadecimal digits are of the fence, then 32 of the
    parameters; zeros: none.
    """

    fence: str | None = None
    """How far its fence is: None, Working, InForce, WaitsForGround, Refused or Drifted."""

    geofences: list[str] | None = None
    """The Geofences that select it and hold now."""

    parameter_profiles: list[str] | None = None
    """The ParameterProfiles that select it."""

    parameters: int = 0
    """Parameters that it is to have."""

    parameters_in_force: int = 0
    """How many of them were read back."""

    sent: str | None = None
    """Digest of what was sent to its agent last: with former values while it waits for its turn."""

    values: list[RuleValue] | None = None
    """The values of ParameterProfiles in what was sent last, for the next coordinator."""


class VehicleStatus(Status):
    """What is known of it, by its autopilot's and its agent's own account."""

    airborne_since: datetime | None = None
    """In the air since then, as far as reports show; absent on the ground."""

    autopilot: str | None = None
    """Autopilot stack: ArduPilot or PX4."""

    battery: Battery | None = None
    """Battery, in steps of 25 percent: `skein status` has it live."""

    battery_wear: BatteryWear | None = None
    """How worn its battery is, of several that which is worn most; absent where no battery reports it (MAVLink:
    BATTERY_INFO).
    """

    board: Board | None = None
    """The kind of its autopilot's board; absent where the autopilot does not know, as a simulated one."""

    drone: str | None = None
    """The Drone that it serves, as NAMESPACE/NAME."""

    firmware: str | None = None
    """Firmware version; absent until the autopilot reported it."""

    flight_seconds: int = 0
    """How long those took, in seconds."""

    flights: int = 0
    """Flights that have ended, also those that a pilot or a ground station flew."""

    home: Home | None = None
    """Where it took off last, or will: its home position (MAVLink: HOME_POSITION)."""

    other_batteries: list[OtherBatterie] | None = None
    """Batteries that do not drive the motors, which count for nothing, in steps of 25 percent."""

    remote_id: RemoteId | None = None
    """Its Remote ID; absent while no Operator selects it and no transmitter of its own was heard."""

    rules: Rules | None = None
    """The rules of Geofences and ParameterProfiles for it; absent while none selects it and none of ours are left on
    it.
    """

    system_id: int | None = None
    """MAVLink system id, 1 to 255."""


class Vehicle(Resource[VehicleSpec, VehicleStatus]):
    """A Vehicle is one aircraft from whose autopilot the agent of a node has received messages: which it is, whether a
    Drone could use it, and why not. The coordinator writes it. Deleting one forgets its flights, and nothing else;
    while its agent receives from its autopilot, it is written again. One that was not observed for 90 days is
    deleted.
    """

    KIND: ClassVar[str] = "Vehicle"
    PLURAL: ClassVar[str] = "vehicles"
    NAMESPACED: ClassVar[bool] = False

    kind: str = "Vehicle"


__all__ = [
    "Area",
    "ArmingRefusal",
    "Battery",
    "BatteryWear",
    "Board",
    "Camera",
    "Circle",
    "Condition",
    "ConfigMapKeyRef",
    "Drone",
    "DroneSpec",
    "DroneStatus",
    "DroneVehicle",
    "EuropeanClass",
    "Exclusion",
    "External",
    "Failsafe",
    "Flown",
    "Formation",
    "Geofence",
    "GeofenceSpec",
    "GeofenceStatus",
    "GroundOrder",
    "GroundOrderSpec",
    "GroundOrderStatus",
    "Handover",
    "Hole",
    "Home",
    "MatchExpression",
    "Mission",
    "MissionSpec",
    "MissionStatus",
    "NotFlown",
    "Operator",
    "OperatorLocation",
    "OperatorSpec",
    "OperatorStatus",
    "OtherBatterie",
    "ParameterProfile",
    "ParameterProfileSpec",
    "ParameterProfileStatus",
    "Part",
    "Place",
    "Plan",
    "PlanFrom",
    "Position",
    "RefusedVehicle",
    "Relief",
    "RemoteId",
    "Route",
    "RuleValue",
    "Rules",
    "Settings",
    "Slot",
    "Station",
    "Survey",
    "Swarm",
    "SwarmSpec",
    "SwarmStatus",
    "SwarmTemplate",
    "SwarmTemplateMetadata",
    "SwarmTemplateSpec",
    "Unsettled",
    "Vehicle",
    "VehicleSelector",
    "VehicleSpec",
    "VehicleStatus",
    "Waypoint",
    "WaypointAction",
    "Window",
]


Drone.model_rebuild()
Geofence.model_rebuild()
GroundOrder.model_rebuild()
Mission.model_rebuild()
Operator.model_rebuild()
ParameterProfile.model_rebuild()
Swarm.model_rebuild()
Vehicle.model_rebuild()
