//! Positions on the globe, and meters around a reference point, valid for a few kilometers.

/// ArduPilot's value (1.113195 cm per 10⁻⁷ degree).
const METERS_PER_DEGREE: f64 = 111_319.5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wgs84 {
    pub lat_deg: f64,
    pub lon_deg: f64,
    pub amsl_m: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neu {
    pub north: f64,
    pub east: f64,
    pub up: f64,
}

impl Neu {
    pub fn ground_distance(self, other: Self) -> f64 {
        (self.north - other.north).hypot(self.east - other.east)
    }
}

impl Wgs84 {
    pub fn offset(self, offset: Neu) -> Self {
        Self {
            lat_deg: self.lat_deg + offset.north / METERS_PER_DEGREE,
            lon_deg: self.lon_deg + offset.east / self.meters_per_degree_east(),
            amsl_m: self.amsl_m + offset.up,
        }
    }

    pub fn offset_meters(self, north: f64, east: f64) -> Self {
        self.offset(Neu { north, east, up: 0.0 })
    }

    pub fn to_local(self, point: Self) -> Neu {
        Neu {
            north: (point.lat_deg - self.lat_deg) * METERS_PER_DEGREE,
            east: (point.lon_deg - self.lon_deg) * self.meters_per_degree_east(),
            up: point.amsl_m - self.amsl_m,
        }
    }

    pub fn e7(self) -> (i32, i32) {
        ((self.lat_deg * 1e7).round() as i32, (self.lon_deg * 1e7).round() as i32)
    }

    pub fn amsl_mm(self) -> i32 {
        (self.amsl_m * 1000.0).round() as i32
    }

    fn meters_per_degree_east(self) -> f64 {
        METERS_PER_DEGREE * self.lat_deg.to_radians().cos().max(0.01)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_point_is_found_again_at_the_same_offset() {
        let home = Wgs84 {
            lat_deg: 47.397742,
            lon_deg: 8.545594,
            amsl_m: 488.0,
        };
        let offset = Neu {
            north: 30.0,
            east: -20.0,
            up: 5.0,
        };
        let back = home.to_local(home.offset(offset));
        assert!((back.north - 30.0).abs() < 1e-3 && (back.east + 20.0).abs() < 1e-3 && (back.up - 5.0).abs() < 1e-6);
    }
}
