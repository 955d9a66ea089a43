//! A plot as SVG: lines through points over a size, both axes logarithmic or linear.
//!
//! In: series of points. Out: the text of an `svg` element, in colours that can be read on light and on dark pages.

use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::{
    coord::{
        Shift,
        ranged1d::{AsRangedCoord, ValueFormatter},
    },
    prelude::*,
};

/// Points of one kind, in order of their size.
pub struct Series {
    /// For the legend.
    pub name: &'static str,
    /// Of its line and its points.
    pub colour: RGBColor,
    /// Size and figure.
    pub points: Vec<(f64, f64)>,
}

/// What is drawn.
pub struct Plot {
    /// Above it.
    pub title: &'static str,
    /// Below it.
    pub x: &'static str,
    /// Beside it.
    pub y: &'static str,
    /// Both axes are logarithmic.
    pub logarithmic: bool,
    /// Without points a series is left out.
    pub series: Vec<Series>,
}

const SIZE: (u32, u32) = (560, 340);
const FONT: &str = "system-ui, sans-serif";
/// Of text and axes.
const INK: RGBColor = RGBColor(118, 128, 138);

impl Plot {
    /// Draws it.
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        let x = extent(self.points().map(|(x, _)| x), self.logarithmic);
        let y = extent(self.points().map(|(_, y)| y), self.logarithmic);
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        if self.logarithmic {
            self.draw(&area, x.log_scale(), y.log_scale())?;
        } else {
            self.draw(&area, x, y)?;
        }
        drop(area);
        Ok(svg)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flat_map(|series| series.points.iter().copied())
    }

    fn draw<X, Y>(&self, area: &DrawingArea<SVGBackend<'_>, Shift>, x: X, y: Y) -> Result<()>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let text = |size: u32| (FONT, size).into_font().color(&INK);
        let wrong = |error: DrawingAreaErrorKind<_>| anyhow!("drawing {:?}: {error}", self.title);
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, text(18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(58)
            .build_cartesian_2d(x, y)
            .map_err(wrong)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.3))
            .light_line_style(TRANSPARENT)
            .label_style(text(14))
            .axis_desc_style(text(15))
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .draw()
            .map_err(wrong)?;
        for series in self.series.iter().filter(|series| !series.points.is_empty()) {
            let colour = series.colour;
            let drawn = LineSeries::new(series.points.iter().copied(), colour.stroke_width(2)).point_size(4);
            chart
                .draw_series(drawn)
                .map_err(wrong)?
                .label(series.name)
                .legend(move |(x, y)| Circle::new((x + 10, y), 4, colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(text(14))
            .draw()
            .map_err(wrong)?;
        area.present().map_err(wrong)
    }
}

/// From the power of ten below the least to that above the greatest, or from zero to a little above the greatest.
fn extent(values: impl Iterator<Item = f64>, logarithmic: bool) -> Range<f64> {
    let kept: Vec<f64> = values.filter(|value| !logarithmic || *value > 0.0).collect();
    let low = kept.iter().copied().fold(f64::MAX, f64::min);
    let high = kept.iter().copied().fold(f64::MIN, f64::max);
    match (kept.is_empty(), logarithmic) {
        (true, _) => 1.0..10.0,
        (_, true) => {
            let low = low.log10().floor();
            10f64.powf(low)..10f64.powf(high.log10().ceil().max(low + 1.0))
        }
        (_, false) => 0.0..if high > 0.0 { high * 1.05 } else { 1.0 },
    }
}

/// Short, with separators for thousands.
pub fn number(value: f64) -> String {
    if value >= 10_000.0 {
        return format!("{:.0},{:03.0}", (value / 1000.0).floor(), value % 1000.0);
    }
    let text = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_all_points_and_end_at_round_values() {
        assert_eq!(extent([0.05, 199.0].into_iter(), true), 0.01..1000.0);
        assert_eq!(extent([0.0, 1000.0].into_iter(), false), 0.0..1050.0);
        assert_eq!(extent([].into_iter(), true), 1.0..10.0);
    }

    #[test]
    fn a_series_without_points_is_not_drawn() {
        let series = |name, points| Series { name, colour: RED, points };
        let series = [series("ours", vec![(1.0, 2.0), (10.0, 3.0)]), series("raw", vec![])];
        for logarithmic in [true, false] {
            let series = series.iter().map(|s| Series { points: s.points.clone(), ..*s }).collect();
            let svg = Plot { title: "t", x: "x", y: "y", logarithmic, series }.svg().unwrap();
            assert!(svg.contains("ours") && !svg.contains("raw"), "{svg}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.05, 5.7, 199.0, 22_000.0].map(number);
        assert_eq!(texts, ["0", "0.05", "5.7", "199", "22,000"]);
    }
}
