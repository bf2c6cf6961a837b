//! How many edges lie east of a place, by rows of equal height: in a row, most edges are known to lie east of it, or not to, by their order.

use super::Edge;
#[cfg(test)]
use super::steps;
use ::geo::Coord;

/// Edges for each row, about.
const EDGES_PER_ROW: usize = 8;

const MAX_ROWS: usize = 32;

/// Nearer than this, the edge itself is examined, meters.
const DOUBT_M: f64 = 1e-6;

#[derive(Clone, Debug)]
pub(super) struct Crossings {
    edges: Vec<Edge>,
    /// From and to, north.
    south: f64,
    north: f64,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// Edges from below the row to above it, from west to east.
    through: Vec<Through>,
    /// The others in it.
    partly: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Through {
    west: f64,
    /// The easternmost place of this one and those before it, in the row.
    east: f64,
    edge: usize,
}

impl Edge {
    /// Whether a line from `point` to the east crosses it.
    fn is_east(&self, point: Coord<f64>) -> bool {
        #[cfg(test)]
        steps::add();
        let (start, end) = (self.start - point, self.end - point);
        (start.y > 0.0) != (end.y > 0.0) && start.x + (end.x - start.x) * (start.y / (start.y - end.y)) > 0.0
    }

    fn east_at(&self, north: f64) -> f64 {
        let (start, end) = (self.start, self.end);
        start.x + (end.x - start.x) * ((north - start.y) / (end.y - start.y))
    }
}

impl Crossings {
    pub fn of(edges: Vec<Edge>) -> Self {
        let ends = edges.iter().flat_map(|edge| [edge.start.y, edge.end.y]);
        let (south, north) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), y| {
            (least.min(y), most.max(y))
        });
        let count = (edges.len() / EDGES_PER_ROW).clamp(1, MAX_ROWS);
        let mut crossings = Self {
            edges: Vec::new(),
            south,
            north,
            rows: vec![Row::default(); count],
        };
        for (number, edge) in edges.iter().enumerate() {
            crossings.add(number, edge);
        }
        for row in &mut crossings.rows {
            row.through.sort_by(|one, other| one.west.total_cmp(&other.west));
            let mut east = f64::NEG_INFINITY;
            for through in &mut row.through {
                east = east.max(through.east);
                through.east = east;
            }
        }
        crossings.edges = edges;
        crossings
    }

    fn add(&mut self, number: usize, edge: &Edge) {
        let (low, high) = (edge.start.y.min(edge.end.y), edge.start.y.max(edge.end.y));
        let (first, last) = (self.row(low - DOUBT_M), self.row(high + DOUBT_M));
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let border = |row: usize| self.south + (self.north - self.south) * (row as f64 / self.rows.len() as f64);
        let borders: Vec<(f64, f64)> = (first..=last)
            .map(|row| (border(row) - DOUBT_M, border(row + 1) + DOUBT_M))
            .collect();
        for (row, (below, above)) in self.rows.iter_mut().skip(first).zip(borders) {
            if low < below && high > above {
                let (one, other) = (edge.east_at(below), edge.east_at(above));
                row.through.push(Through {
                    west: one.min(other),
                    east: one.max(other),
                    edge: number,
                });
            } else {
                row.partly.push(number);
            }
        }
    }

    fn row(&self, north: f64) -> usize {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let row = (north - self.south) / (self.north - self.south) * self.rows.len() as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float cast saturates"
        )]
        let row = row as usize;
        row.min(self.rows.len() - 1)
    }

    /// How many edges a line from `point` to the east crosses.
    pub fn east_of(&self, point: Coord<f64>) -> usize {
        if !(self.south..=self.north).contains(&point.y) {
            return 0;
        }
        let Some(row) = self.rows.get(self.row(point.y)) else {
            return 0;
        };
        let is_east = |edge: usize| self.edges.get(edge).is_some_and(|edge| edge.is_east(point));
        let partly = row.partly.iter().filter(|edge| is_east(**edge)).count();
        let surely = row.through.partition_point(|through| through.west <= point.x + DOUBT_M);
        let doubtful = row.through.iter().take(surely).rev();
        let doubtful = doubtful.take_while(|through| through.east >= point.x - DOUBT_M);
        partly + (row.through.len() - surely) + doubtful.filter(|through| is_east(through.edge)).count()
    }
}
