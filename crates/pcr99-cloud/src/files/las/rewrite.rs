//! A copy of a LAS or LAZ file with moved points, compressed or not. All other bytes stay as they are: attributes, records, the coordinate
//! system. Points are read and written in batches, so that memory does not grow with their number.

use std::io::{self, Read, Seek, SeekFrom, Write};

use laz::{LasZipCompressor, LazVlr, LazVlrBuilder};
use pcr99::Similarity;

use super::decoder::Part;
use super::grid::Grid;
use super::header::{Header, bytes_at, little};
use super::{LasError, each_batch, on_decoder_thread, record};
use crate::error::{Fault, said};
use crate::files::copied::Copied;
use crate::files::source::{Origin, Source};

/// Bytes of the head of a record before and after the points.
const RECORD: u64 = 54;
const EXTENDED_RECORD: u64 = 60;

/// Places of header fields, in bytes.
const POINTS_AT: usize = 96;
const RECORDS: usize = 100;
const FORMAT: usize = 104;
const BOUNDS: usize = 179;
const WAVES_AT: usize = 227;
const EXTENDED_AT: usize = 235;
const EXTENDED_RECORDS: usize = 243;

/// Copies the file at `origin` to `out`, with its points moved, and compressed if `is_packed`.
pub(in crate::files) fn rewrite(
    origin: Origin<'_>,
    transform: &Similarity,
    is_packed: bool,
    out: &mut (impl Write + Seek + Send + Sync),
) -> Result<Copied, Fault> {
    let Source { mut reader, size, .. } = origin.open().map_err(io::Error::other)?;
    let size = size.ok_or_else(|| Fault::whole(LasError::Pipe))?;
    let header = Header::read(&mut reader, size)?;
    on_decoder_thread(&header, || {
        let motion = Motion::new(origin, &header, &mut reader, transform)?;
        Copy { origin, header: &header, size, motion, is_packed }.write(&mut reader, out)
    })
}

/// What happens to a point.
struct Motion {
    transform: Similarity,
    old: Grid,
    new: Grid,
    /// Whether the integers change, not only their offset.
    is_turned: bool,
    /// Place in a point and type of vectors that turn with the cloud.
    vectors: Vec<Vector>,
}

/// Three numbers in a point that are a direction: their places, whether they have 64 bits, and whether their length grows with the scale.
struct Vector {
    places: [usize; 3],
    is_double: bool,
    is_scaled: bool,
}

impl Motion {
    fn new(
        origin: Origin<'_>,
        header: &Header,
        reader: &mut (impl Read + Seek),
        transform: &Similarity,
    ) -> Result<Self, Fault> {
        let old = Grid::of(header);
        let is_turned = transform.linear() != Similarity::IDENTITY.linear();
        let new = if is_turned {
            let bounds = bounds(origin, header, &old, transform)?;
            old.moved(transform, bounds).map_err(Fault::whole)?
        } else {
            old.shifted(transform.translation()).map_err(Fault::whole)?
        };
        let vectors = if is_turned { vectors(header, reader)? } else { Vec::new() };
        Ok(Self { transform: *transform, old, new, is_turned, vectors })
    }

    /// Moves the point in `bytes`; returns its new place.
    fn apply(&self, bytes: &mut [u8]) -> Result<[f64; 3], Fault> {
        let integers = integers(bytes);
        if !self.is_turned {
            return Ok(self.new.point(integers));
        }
        let point = self.transform.apply(self.old.point(integers));
        // The grid was chosen for these points: this is met only when the file has changed meanwhile.
        let changed = || io::Error::other("the file has changed while it was read");
        let integers = self.new.integers(point).ok_or_else(changed)?;
        bytes[..12].copy_from_slice(integers.map(i32::to_le_bytes).as_flattened());
        for vector in &self.vectors {
            vector.turn(bytes, &self.transform);
        }
        Ok(self.new.point(integers))
    }
}

impl Vector {
    fn turn(&self, bytes: &mut [u8], transform: &Similarity) {
        let double = |at: usize| f64::from_bits(little(bytes, at as u64, 8).unwrap_or(0));
        let single = |at: usize| f64::from(f32::from_bits(little(bytes, at as u64, 4).unwrap_or(0) as u32));
        let vector = self.places.map(|at| if self.is_double { double(at) } else { single(at) });
        let matrix = if self.is_scaled { transform.linear() } else { transform.rotation() };
        for (at, row) in self.places.into_iter().zip(matrix) {
            let turned = row[0] * vector[0] + row[1] * vector[1] + row[2] * vector[2];
            if self.is_double {
                bytes[at..at + 8].copy_from_slice(&turned.to_le_bytes());
            } else {
                bytes[at..at + 4].copy_from_slice(&(turned as f32).to_le_bytes());
            }
        }
    }
}

/// The integers of a point.
fn integers(bytes: &[u8]) -> [i32; 3] {
    [0, 4, 8].map(|at| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

/// The box of the moved points. The box in the header is not believed.
fn bounds(
    origin: Origin<'_>,
    header: &Header,
    grid: &Grid,
    transform: &Similarity,
) -> Result<[[f64; 3]; 2], Fault> {
    let Source { reader, .. } = origin.open().map_err(io::Error::other)?;
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    each_batch(reader, header, Part::Cloud, |bytes| {
        for point in bytes.chunks_exact(header.stride as usize) {
            let point = transform.apply(grid.point(integers(point)));
            low = [0, 1, 2].map(|k| low[k].min(point[k]));
            high = [0, 1, 2].map(|k| high[k].max(point[k]));
        }
        Ok(())
    })?;
    Ok(if header.points == 0 { [[0.0; 3]; 2] } else { [low, high] })
}

/// Directions in the points: those of waves, and normals in extra bytes.
fn vectors(header: &Header, reader: &mut (impl Read + Seek)) -> Result<Vec<Vector>, Fault> {
    let wave = match header.format {
        4 => Some(28),
        5 => Some(34),
        9 => Some(30),
        10 => Some(38),
        _ => None,
    };
    // A wave begins with its record (1), its place (8) and size (4), and the place of the return in it (4).
    let wave = wave.map(|at: usize| at + 17).map(|at| Vector {
        places: [at, at + 4, at + 8],
        is_double: false,
        is_scaled: true,
    });
    let mut vectors: Vec<Vector> = wave.into_iter().collect();
    let mut at = header.length;
    for _ in 0..little(&header.bytes, RECORDS as u64, 4).unwrap_or(0) {
        let head = bytes_at(reader, at, RECORD)?;
        let length = little(&head, 20, 2).unwrap_or(0);
        if head[2..].starts_with(b"LASF_Spec\0") && little(&head, 18, 2) == Some(4) {
            let fields = super::extra::fields(&bytes_at(reader, at + RECORD, length)?, header);
            vectors.extend(super::extra::normals(&fields).map(|(places, is_double)| Vector {
                places,
                is_double,
                is_scaled: false,
            }));
        }
        at += RECORD + length;
    }
    Ok(vectors)
}

/// A copy of a file.
struct Copy<'a> {
    origin: Origin<'a>,
    header: &'a Header,
    size: u64,
    motion: Motion,
    is_packed: bool,
}

impl Copy<'_> {
    fn write(
        &self,
        reader: &mut (impl Read + Seek),
        out: &mut (impl Write + Seek + Send + Sync),
    ) -> Result<Copied, Fault> {
        let mut lost = Vec::new();
        let mut bytes = self.header.bytes.clone();
        self.motion.new.store(&mut bytes);
        bytes[FORMAT] = self.header.format | if self.is_packed { 0x80 } else { 0 };
        out.write_all(&bytes)?;
        self.copy(reader, bytes.len() as u64, self.header.length, out)?;
        let records = self.write_records(reader, out, &mut lost)?;
        put(&mut bytes, RECORDS, 4, records);
        put(&mut bytes, POINTS_AT, 4, out.stream_position()?);

        let bounds = self.write_points(out)?;
        if let Some([low, high]) = bounds {
            for k in 0..3 {
                put(&mut bytes, BOUNDS + 16 * k, 8, high[k].to_bits());
                put(&mut bytes, BOUNDS + 16 * k + 8, 8, low[k].to_bits());
            }
        }
        self.write_rest(reader, out, &mut bytes, &mut lost)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&bytes)?;
        Ok(Copied { points: self.header.points, lost })
    }

    /// Copies the bytes from `start` to `end`.
    fn copy(
        &self,
        reader: &mut (impl Read + Seek),
        start: u64,
        end: u64,
        out: &mut (impl Write + Seek + Send + Sync),
    ) -> Result<(), Fault> {
        reader.seek(SeekFrom::Start(start))?;
        io::copy(&mut reader.by_ref().take(end.saturating_sub(start)), out)?;
        Ok(())
    }

    /// Writes the records between header and points, and the bytes that follow them; returns the number of records.
    fn write_records(
        &self,
        reader: &mut (impl Read + Seek),
        out: &mut (impl Write + Seek + Send + Sync),
        lost: &mut Vec<String>,
    ) -> Result<u64, Fault> {
        let mut kept = 0;
        let mut at = self.header.length;
        for _ in 0..little(&self.header.bytes, RECORDS as u64, 4).unwrap_or(0) {
            let head = bytes_at(reader, at, RECORD)?;
            let end = at + RECORD + little(&head, 20, 2).unwrap_or(0);
            let is_compression = head[2..18] == *record::USER && little(&head, 18, 2) == Some(record::NUMBER);
            match self.outdated(&head) {
                Some(index) => lost.push(index.to_owned()),
                None if is_compression => {}
                None => {
                    self.copy(reader, at, end, out)?;
                    kept += 1;
                }
            }
            at = end;
        }
        if self.is_packed {
            let mut content = Vec::new();
            self.compression()?.write_to(&mut content)?;
            let mut head = vec![0; RECORD as usize];
            head[2..18].copy_from_slice(record::USER);
            put(&mut head, 18, 2, record::NUMBER);
            put(&mut head, 20, 2, content.len() as u64);
            out.write_all(&head)?;
            out.write_all(&content)?;
            kept += 1;
        }
        self.copy(reader, at, self.header.offset, out)?;
        Ok(kept)
    }

    /// Name of an index by place whose record this is, if it is wrong in the copy.
    fn outdated(&self, head: &[u8]) -> Option<&'static str> {
        if head[2..].starts_with(b"copc\0") {
            return Some("the octree of a COPC file");
        }
        let is_index = head[2..].starts_with(b"LAStools\0") && little(head, 18, 2) == Some(30);
        (is_index && self.motion.is_turned).then_some("the spatial index of LAStools")
    }

    /// How the points of the copy are compressed.
    fn compression(&self) -> Result<laz::LazVlr, Fault> {
        let extra = self.header.stride - super::header::LEAST[usize::from(self.header.format)];
        let builder = LazVlrBuilder::default().with_point_format(self.header.format, extra as u16);
        Ok(builder.map_err(|cause| encoder(&cause))?.build())
    }

    /// Writes the points; returns their box.
    fn write_points(
        &self,
        out: &mut (impl Write + Seek + Send + Sync),
    ) -> Result<Option<[[f64; 3]; 2]>, Fault> {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let Source { reader, .. } = self.origin.open().map_err(io::Error::other)?;
        let compression = if self.is_packed { Some(self.compression()?) } else { None };
        let mut sink = Sink::new(out, compression)?;
        each_batch(reader, self.header, Part::Everything, |bytes| {
            for point in bytes.chunks_exact_mut(self.header.stride as usize) {
                let place = self.motion.apply(point)?;
                low = [0, 1, 2].map(|k| low[k].min(place[k]));
                high = [0, 1, 2].map(|k| high[k].max(place[k]));
            }
            Ok(sink.write(bytes)?)
        })?;
        sink.finish()?;
        Ok((self.header.points > 0).then_some([low, high]))
    }

    /// Writes what follows the points, and puts its new place into the header.
    fn write_rest(
        &self,
        reader: &mut (impl Read + Seek),
        out: &mut (impl Write + Seek + Send + Sync),
        header: &mut [u8],
        lost: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let number = |at: usize, width: u64| little(&self.header.bytes, at as u64, width).unwrap_or(0);
        let (waves, records_at, records) =
            (number(WAVES_AT, 8), number(EXTENDED_AT, 8), number(EXTENDED_RECORDS, 4));
        let start = match &self.header.compression {
            None => self.header.offset + self.header.points * self.header.stride,
            // The end of the compressed points is not stored.
            Some(_) => {
                let rest = [(waves, waves > 0), (records_at, records > 0)];
                let rest = rest.into_iter().filter(|&(at, is_used)| is_used && at >= self.header.offset);
                rest.map(|(at, _)| at).min().unwrap_or(self.size).min(self.size)
            }
        };
        out.seek(SeekFrom::End(0))?;
        let new_start = out.stream_position()?;
        let shifted = |at: u64| if at >= start { at - start + new_start } else { at };
        let mut new_waves = shifted(waves);
        let (mut at, mut kept) = (start, 0);
        if records > 0 && records_at >= start {
            self.copy(reader, start, records_at, out)?;
            at = records_at;
            for _ in 0..records {
                let head = bytes_at(reader, at, EXTENDED_RECORD)?;
                let end = at + EXTENDED_RECORD + little(&head, 20, 8).unwrap_or(0);
                if let Some(index) = self.outdated(&head) {
                    lost.push(index.to_owned());
                } else {
                    if at == waves {
                        new_waves = out.stream_position()?;
                    }
                    self.copy(reader, at, end, out)?;
                    kept += 1;
                }
                at = end;
            }
            put(header, EXTENDED_RECORDS, 4, kept);
        }
        self.copy(reader, at, self.size, out)?;
        if header.len() >= EXTENDED_AT {
            put(header, WAVES_AT, 8, new_waves);
        }
        if header.len() > EXTENDED_AT {
            put(header, EXTENDED_AT, 8, if records > 0 && kept == 0 { 0 } else { shifted(records_at) });
        }
        lost.dedup();
        Ok(())
    }
}

/// Where points go.
pub(super) enum Sink<'a, W: Write + Seek + Send + Sync + 'a> {
    Packed(Box<LasZipCompressor<'a, &'a mut W>>),
    Plain(&'a mut W),
}

impl<'a, W: Write + Seek + Send + Sync + 'a> Sink<'a, W> {
    /// A sink for points that are compressed, if it is said how.
    pub(super) fn new(out: &'a mut W, compression: Option<LazVlr>) -> Result<Self, Fault> {
        Ok(match compression {
            Some(how) => {
                Self::Packed(Box::new(LasZipCompressor::new(out, how).map_err(|cause| encoder(&cause))?))
            }
            None => Self::Plain(out),
        })
    }

    /// Writes whole points.
    pub(super) fn write(&mut self, points: &[u8]) -> io::Result<()> {
        match self {
            Self::Packed(packed) => packed.compress_many(points),
            Self::Plain(out) => out.write_all(points),
        }
    }

    /// Ends the points; what follows is written after them.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Packed(mut packed) => packed.done(),
            Self::Plain(_) => Ok(()),
        }
    }
}

/// The error of the compressing library.
pub(super) fn encoder(cause: &laz::LasZipError) -> Fault {
    Fault::whole(LasError::Encoder { cause: said(cause) })
}

/// Puts a number of `width` bytes into `bytes`, low byte first.
pub(super) fn put(bytes: &mut [u8], at: usize, width: usize, number: u64) {
    bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
}
