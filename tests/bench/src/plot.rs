//! A plot as SVG: lines through points over a size, both axes logarithmic or linear.
//!
//! In: series of points. Out: the text of an `svg` element whose colours follow the page's.

use std::fmt::Write as _;

/// Points of one kind, in order of their size.
pub struct Series {
    /// For the legend.
    pub name: &'static str,
    /// CSS class, which gives the colour.
    pub class: &'static str,
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

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 340.0;
/// Left, right, top, bottom of the drawing.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 285.0;

/// Where values of one axis go.
struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Over these values, from whole powers of ten or from zero.
    fn over(values: impl Iterator<Item = f64>, logarithmic: bool, from: f64, to: f64) -> Self {
        let kept: Vec<f64> = values.filter(|value| !logarithmic || *value > 0.0).collect();
        let low = kept.iter().copied().fold(f64::MAX, f64::min);
        let high = kept.iter().copied().fold(f64::MIN, f64::max);
        let (low, high) = match (kept.is_empty(), logarithmic) {
            (true, _) => (1.0, 10.0),
            (_, true) => (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0)),
            (_, false) => (0.0, if high > 0.0 { high * 1.05 } else { 1.0 }),
        };
        Self { logarithmic, low, high, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(1e-9).log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Values that get a line and a label.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high - self.low).round();
            return std::iter::successors(Some(0.0), |n| (*n < decades).then_some(n + 1.0))
                .map(|n| 10f64.powf(self.low + n))
                .collect();
        }
        let rough = self.high / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        std::iter::successors(Some(0.0), |value| Some(value + step))
            .take_while(|value| *value <= self.high)
            .collect()
    }
}

impl Plot {
    /// Draws it.
    pub fn svg(&self) -> String {
        let all = || self.series.iter().flat_map(|series| series.points.iter().copied());
        let x = Scale::over(all().map(|(x, _)| x), self.logarithmic, LEFT, RIGHT);
        let y = Scale::over(all().map(|(_, y)| y), self.logarithmic, BOTTOM, TOP);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\n<text class=\"title\" x=\"{LEFT}\" \
             y=\"22\">{0}</text>\n",
            self.title
        );
        for tick in x.ticks() {
            let at = x.place(tick);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/><text class=\"tick\" x=\"{at:.1}\" \
                y=\"{}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 16.0,
                number(tick)
            );
        }
        for tick in y.ticks() {
            let at = y.place(tick);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"tick\" x=\"{}\" \
                y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                number(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 36.0,
            self.x
        );
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{0}\" y=\"16\" transform=\"rotate(-90)\" text-anchor=\"middle\">{1}</text>",
            -f64::midpoint(TOP, BOTTOM),
            self.y
        );
        for series in self.series.iter().filter(|series| !series.points.is_empty()) {
            line(&mut svg, series, &x, &y);
        }
        self.legend(&mut svg);
        svg + "</svg>\n"
    }

    fn legend(&self, svg: &mut String) {
        let mut at = LEFT;
        for series in self.series.iter().filter(|series| !series.points.is_empty()) {
            let _ = writeln!(
                svg,
                "<g class=\"{}\"><circle cx=\"{at}\" cy=\"{}\" r=\"4\"/><text class=\"legend\" \
                x=\"{}\" y=\"{}\">{}</text></g>",
                series.class,
                HEIGHT - 8.0,
                at + 8.0,
                HEIGHT - 4.0,
                series.name
            );
            at += 24.0 + 6.2 * series.name.chars().count() as f64;
        }
    }
}

fn line(svg: &mut String, series: &Series, x: &Scale, y: &Scale) {
    let path: Vec<String> =
        series.points.iter().map(|(a, b)| format!("{:.1} {:.1}", x.place(*a), y.place(*b))).collect();
    let _ = writeln!(svg, "<g class=\"{}\"><path class=\"line\" d=\"M{}\"/>", series.class, path.join("L"));
    for (a, b) in &series.points {
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}: {} at {}</title></circle>",
            x.place(*a),
            y.place(*b),
            series.name,
            number(*b),
            number(*a)
        );
    }
    svg.push_str("</g>\n");
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
    fn axes_hold_all_points_and_begin_at_round_values() {
        let log = Scale::over([0.05, 199.0].into_iter(), true, 0.0, 100.0);
        let ticks: Vec<String> = log.ticks().into_iter().map(number).collect();
        assert_eq!(ticks, ["0.01", "0.1", "1", "10", "100", "1000"]);
        assert!((log.place(0.01) - 0.0).abs() < 1e-9 && log.place(199.0) < 100.0);

        let linear = Scale::over([0.0, 1192.0].into_iter(), false, 0.0, 100.0);
        let ticks: Vec<String> = linear.ticks().into_iter().map(number).collect();
        assert_eq!(ticks, ["0", "500", "1000"]);
    }

    #[test]
    fn a_series_without_points_is_not_drawn() {
        let series = |class, points| Series { name: class, class, points };
        let series = vec![series("ours", vec![(1.0, 2.0), (10.0, 3.0)]), series("raw", vec![])];
        let plot = Plot { title: "t", x: "x", y: "y", logarithmic: true, series };
        let svg = plot.svg();
        assert!(svg.contains("class=\"ours\"") && !svg.contains("class=\"raw\""));
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.05, 5.7, 199.0, 22_000.0].map(number);
        assert_eq!(texts, ["0", "0.05", "5.7", "199", "22,000"]);
    }
}
