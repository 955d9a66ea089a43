//! Columns of text for a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

/// Headings.
pub const HEAD: Style = Style::new().bold();
/// What went well.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What did not.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What deserves a look.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// What matters less.
pub const DIM: Style = Style::new().dimmed();

/// A piece of text in one style.
pub struct Cell {
    /// As it stands.
    pub text: String,
    /// In this style.
    pub style: Style,
}

/// Lines of cells under headings.
pub struct Table {
    lines: Vec<Vec<Cell>>,
}

impl Cell {
    /// In a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

impl Table {
    /// With headings.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { lines: vec![headings.map(|heading| Cell::styled(heading, HEAD)).into()] }
    }

    /// One more line.
    pub fn push<const N: usize>(&mut self, cells: [Cell; N]) {
        self.lines.push(cells.into());
    }

    /// Columns as wide as their widest cell, two blanks between them; `indent` blanks before each line.
    pub fn write(&self, indent: usize, out: &mut impl Write) -> io::Result<()> {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in &self.lines {
            write!(out, "{:indent$}", "")?;
            // Nothing ends in blanks.
            let filled = line.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
            for (column, (cell, width)) in line.iter().zip(&widths).take(filled).enumerate() {
                let Cell { text, style } = cell;
                write!(out, "{style}{text}{style:#}")?;
                if column + 1 < filled {
                    let pad = width - text.chars().count() + 2;
                    write!(out, "{:pad$}", "")?;
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_whatever_its_colour() {
        let mut table = Table::new(["A", "B"]);
        table.push([Cell::styled("long", BAD), "x".into()]);
        table.push(["y".into(), "".into()]);
        let mut out = anstream::StripStream::new(Vec::new());

        table.write(1, &mut out).unwrap();

        assert_eq!(String::from_utf8(out.into_inner()).unwrap(), " A     B\n long  x\n y\n");
    }
}
