//! Distances on the ellipsoid itself, for tests of what is planned on the flat frame.

use model::units::Wgs84;

/// Straight distance through the Earth's center: shares nothing with `model::geo::Frame` but WGS 84.
pub fn chord(one: Wgs84, other: Wgs84) -> f64 {
    let center = |at: Wgs84| {
        let (phi, lambda) = (at.latitude_deg.to_radians(), at.longitude_deg.to_radians());
        let flattening = 1.0 / 298.257_223_563;
        let e2 = flattening * (2.0 - flattening);
        let n = 6_378_137.0 / (1.0 - e2 * phi.sin().powi(2)).sqrt();
        [
            n * phi.cos() * lambda.cos(),
            n * phi.cos() * lambda.sin(),
            n * (1.0 - e2) * phi.sin(),
        ]
    };
    let (one, other) = (center(one), center(other));
    (0..3).map(|i| (one[i] - other[i]).powi(2)).sum::<f64>().sqrt()
}
