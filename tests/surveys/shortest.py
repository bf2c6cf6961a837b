"""How short the ways between the lines of surveys can be made, as OR-Tools finds with ways around obstacles by Shapely.

Reads what the benchmark `fields` prints. For each field: the whole path as planned and as found here, and the share of the field that the
lines cover as Shapely reckons it. Writes a table of found lengths with --write FILE.
"""

import argparse
import heapq
import json
import sys
import time

from ortools.constraint_solver import pywrapcp, routing_enums_pb2
from shapely import LineString, MultiLineString, Point, Polygon, contains_properly, prepare
from shapely.ops import unary_union

# Ways may touch what they must not cross, meters.
SLACK = 0.01
# What makes the two ends of a line follow one another, centimeters.
APART = 10_000_000


def corners(polygon):
    """The corners of all rings."""
    rings = [polygon.exterior, *polygon.interiors]
    return [corner for ring in rings for corner in ring.coords[:-1]]


def lengths(places, room):
    """The lengths of the shortest ways within `room` from each of `places` to each other."""
    turns = corners(room)
    everywhere = places + turns
    allowed = room.buffer(SLACK)
    prepare(allowed)
    count = len(everywhere)
    seen = [[] for _ in everywhere]
    for one in range(count):
        for other in range(one):
            a, b = everywhere[one], everywhere[other]
            far = ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5
            if far < 1e-9 or contains_properly(allowed, LineString([a, b])):
                seen[one].append((other, far))
                seen[other].append((one, far))
    found = []
    for begin in range(len(places)):
        far = [float("inf")] * count
        far[begin] = 0.0
        open_ = [(0.0, begin)]
        while open_:
            length, at = heapq.heappop(open_)
            if length > far[at]:
                continue
            for other, step in seen[at]:
                if length + step < far[other]:
                    far[other] = length + step
                    heapq.heappush(open_, (length + step, other))
        found.append(far[: len(places)])
    return found


def shortest(runs, room, seconds):
    """The least length of the ways from run to run that OR-Tools finds, meters; and the length of those as given."""
    # A run that ends where it begins may be entered at any of its corners: it is one node with many places, the others are two nodes.
    nodes, places = [], []
    partner = {}
    for run in runs:
        is_ring = len(run) > 3 and run[0] == run[-1]
        ends = [list(run[:-1])] if is_ring else [[run[0]], [run[-1]]]
        first = len(nodes)
        for end in ends:
            nodes.append(list(range(len(places), len(places) + len(end))))
            places += [tuple(at) for at in end]
        if not is_ring:
            partner[first], partner[first + 1] = first + 1, first
    far = lengths(places, room)
    given = 0.0
    at = None
    for run in runs:
        if at is not None:
            given += far[places.index(tuple(at))][places.index(tuple(run[0]))]
        at = run[-1]
    count = len(nodes)
    # The last node is where the way begins and ends: nowhere.
    cost = [[0] * (count + 1) for _ in range(count + 1)]
    for one in range(count):
        for other in range(count):
            if one == other or partner.get(one) == other:
                continue
            step = min(far[a][b] for a in nodes[one] for b in nodes[other])
            cost[one][other] = round(step * 100) + APART
    manager = pywrapcp.RoutingIndexManager(count + 1, 1, count)
    routing = pywrapcp.RoutingModel(manager)
    matrix = routing.RegisterTransitMatrix(cost)
    routing.SetArcCostEvaluatorOfAllVehicles(matrix)
    how = pywrapcp.DefaultRoutingSearchParameters()
    how.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.PATH_CHEAPEST_ARC
    how.local_search_metaheuristic = routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    how.time_limit.FromMilliseconds(round(seconds * 1000))
    routing.CloseModelWithParameters(how)
    # It begins with the order as planned, so that it finds none that is longer.
    route = []
    number = 0
    for run in runs:
        route += [number] if number not in partner else [number, number + 1]
        number += 1 if number not in partner else 2
    begin = routing.ReadAssignmentFromRoutes([route], True)
    solution = routing.SolveFromAssignmentWithParameters(begin, how) if begin else routing.SolveWithParameters(how)
    index = routing.Start(0)
    total = 0
    while not routing.IsEnd(index):
        after = solution.Value(routing.NextVar(index))
        total += cost[manager.IndexToNode(index)][manager.IndexToNode(after)]
        index = after
    return (total - APART * (len(runs) - 1)) / 100, given


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each field")
    parser.add_argument("--write", help="a file for the found lengths")
    options = parser.parse_args()
    rows = []
    for line in sys.stdin:
        if not line.startswith("{"):
            continue
        field = json.loads(line)
        area = Polygon(field["outer"], field["holes"])
        runs = [[tuple(at) for at in run] for run in field["runs"]]
        wide = Polygon(field["outer"]).buffer(field["spacing"] * 0.55, quad_segs=4)
        holes = unary_union([Polygon(hole) for hole in field["holes"]])
        begin = time.monotonic()
        found, given = shortest(runs, wide.difference(holes), options.seconds)
        took = time.monotonic() - begin
        work = sum(LineString(run).length for run in runs)
        flown = MultiLineString(runs).buffer(field["spacing"] / 2 + 0.001, quad_segs=32)
        covered = area.intersection(flown).area / area.area
        planned = work + field["ways"]
        ratio = planned / (work + found)
        rows.append((field["number"], planned, work + found, ratio, covered, field["ms"], took, given - field["ways"]))
        print("{:4} planned {:9.1f} m found {:9.1f} m ratio {:.4f} covered {:.5f} in {:.2f} ms, there {:.1f} s, off {:.2f}".format(*rows[-1]), flush=True)
    if not rows:
        sys.exit("no field was read")
    ratios = sorted(row[3] for row in rows)
    above = sum(ratio > 1.03 for ratio in ratios)
    print(
        f"{len(rows)} fields: planned {sum(row[1] for row in rows) / 1000:.1f} km, found {sum(row[2] for row in rows) / 1000:.1f} km; "
        f"median {ratios[len(ratios) // 2]:.4f}, worst {ratios[-1]:.4f}, {above} above 1.03; least covered {min(row[4] for row in rows):.5f}; "
        f"longest {max(row[5] for row in rows):.1f} ms"
    )
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(f"{row[0]} {row[2]:.1f}\n")


if __name__ == "__main__":
    main()
