//! A copy of an E57 file with moved scans: each scan and image gets another pose, and all values stay, to the bit.
//!
//! The file is a sequence of pages with checksums. Sections of points lie in the pages, the XML text with the poses mostly after them. Pages are copied; the
//! edited text replaces the old one, or follows the last page.

use std::io::{self, Read, Seek, SeekFrom, Write};

use e57::{E57Reader, Transform};
use pcr99::Similarity;
use roxmltree::{Document, Node};

use super::E57Error;
use crate::error::{Fault, said};
use crate::files::edit::Open;
use crate::files::writing::push_number;
use crate::files::{Reader, Source};

/// Bytes of a page, and those without its checksum.
const PAGE: u64 = 1024;
const PAYLOAD: u64 = PAGE - 4;

/// Places of fields of the header, in bytes.
const LENGTH: usize = 16;
const TEXT_AT: usize = 24;
const TEXT_LENGTH: usize = 32;

/// Largest distance of neighbouring doubles at the places of the moved points, in the metres of the format: finer than any scanner measures.
const COARSEST: f64 = 1e-6;

/// Copies the file to `out`; returns the number of points.
pub(in crate::files) fn copy(open: Open<'_>, how: &Similarity, out: &mut dyn Write) -> Result<u64, Fault> {
    if how.scale() != 1.0 {
        return Err(Fault::whole(E57Error::Scale { scale: how.scale() }));
    }
    let reach = how.translation().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let spacing = f64::EPSILON * reach;
    if spacing > COARSEST {
        return Err(Fault::whole(E57Error::Far { coordinate: reach, spacing }));
    }
    let Source { reader, size, .. } = open()?;
    let pages = size.ok_or_else(|| Fault::whole(E57Error::Pipe))? / PAGE;
    let file = E57Reader::new(reader).map_err(|cause| damaged(&cause))?;
    let points = file.pointclouds().iter().map(|scan| scan.records).sum();
    let text = moved_text(&file, how)?;
    let header = file.header();
    let (page, within) = (header.phys_xml_offset / PAGE, header.phys_xml_offset % PAGE);
    let (start, all) = (page * PAYLOAD + within, pages * PAYLOAD);
    // Text at the end of the file is replaced; other text stays, unused, and the new one follows.
    let is_last = (start + header.xml_length).div_ceil(PAYLOAD) >= pages;
    let start = if is_last { start } else { all };

    let mut reader = open()?.reader;
    let mut target = Pages { out, payload: Vec::new() };
    let end = start + text.len() as u64;
    for number in 0..start.div_ceil(PAYLOAD) {
        let mut payload = read_page(&mut reader, number)?;
        if number == 0 {
            let mut put = |at: usize, value: u64| payload[at..at + 8].copy_from_slice(&value.to_le_bytes());
            put(LENGTH, end.div_ceil(PAYLOAD) * PAGE);
            put(TEXT_AT, start / PAYLOAD * PAGE + start % PAYLOAD);
            put(TEXT_LENGTH, text.len() as u64);
        }
        payload.truncate(usize::try_from(start - number * PAYLOAD).unwrap_or(usize::MAX));
        target.write(&payload)?;
    }
    target.write(text.as_bytes())?;
    target.finish()?;
    Ok(points)
}

fn damaged(cause: &impl std::fmt::Display) -> Fault {
    Fault::whole(E57Error::File { cause: said(cause) })
}

/// The payload of a page whose checksum is right.
fn read_page(reader: &mut Reader, number: u64) -> Result<Vec<u8>, Fault> {
    let mut page = vec![0; PAGE as usize];
    if number == 0 {
        reader.seek(SeekFrom::Start(0))?;
    }
    reader.read_exact(&mut page)?;
    let sum = page.split_off(PAYLOAD as usize);
    if sum != checksum(&page).to_be_bytes() {
        return Err(damaged(&format_args!("the checksum of page {number} is wrong")));
    }
    Ok(page)
}

/// Pages that are written one after the other.
struct Pages<'a> {
    out: &'a mut dyn Write,
    payload: Vec<u8>,
}

impl Pages<'_> {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = PAYLOAD as usize - self.payload.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.payload.extend_from_slice(now);
            bytes = later;
            if self.payload.len() == PAYLOAD as usize {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Fills the last page with zeros.
    fn finish(mut self) -> io::Result<()> {
        if !self.payload.is_empty() {
            self.payload.resize(PAYLOAD as usize, 0);
            self.end_page()?;
        }
        Ok(())
    }

    fn end_page(&mut self) -> io::Result<()> {
        let sum = checksum(&self.payload);
        self.payload.extend_from_slice(&sum.to_be_bytes());
        self.out.write_all(&self.payload)?;
        self.payload.clear();
        Ok(())
    }
}

/// CRC-32C (Castagnoli), as E57 has it.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    /// The sums of single bytes.
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let (mut sum, mut bit) = (i as u32, 0);
            while bit < 8 {
                sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82F6_3B78 } else { sum >> 1 };
                bit += 1;
            }
            table[i] = sum;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum, &byte| TABLE[((sum ^ u32::from(byte)) & 0xff) as usize] ^ (sum >> 8))
}

/// The XML text with the moved poses of scans and images.
fn moved_text(file: &E57Reader<Reader>, how: &Similarity) -> Result<String, Fault> {
    let text = file.xml();
    let document = Document::parse(text).map_err(|cause| damaged(&cause))?;
    let scans = file.pointclouds().into_iter().map(|scan| scan.transform);
    let images = file.images().into_iter().map(|image| image.transform);
    let mut edits = Vec::new();
    for (list, poses) in [("data3D", scans.collect::<Vec<_>>()), ("images2D", images.collect())] {
        let list = document.root_element().children().find(|node| node.has_tag_name(list));
        let nodes = list.into_iter().flat_map(|list| list.children().filter(Node::is_element));
        for (node, pose) in nodes.zip(poses) {
            edits.push(edit(text, &node, &moved(pose.as_ref(), how)?)?);
        }
    }
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    edits.into_iter().for_each(|(range, pose)| text.replace_range(range, &pose));
    Ok(text)
}

/// Where the pose of a scan or an image is, and the text to put there.
fn edit(text: &str, node: &Node<'_, '_>, pose: &str) -> Result<(std::ops::Range<usize>, String), Fault> {
    if let Some(old) = node.children().find(|child| child.has_tag_name("pose")) {
        return Ok((old.range(), pose.to_owned()));
    }
    // Before the end tag, which every scan has, since it has points.
    let range = node.range();
    let end =
        text[range.clone()].rfind("</").ok_or_else(|| damaged(&"a scan or an image without content"))?;
    Ok((range.start + end..range.start + end, format!("{pose}\n")))
}

/// A pose after a motion, as XML.
fn moved(pose: Option<&Transform>, how: &Similarity) -> Result<String, Fault> {
    let pose = match pose {
        Some(Transform { rotation: r, translation: t }) => {
            Similarity::from_quaternion(1.0, [r.w, r.x, r.y, r.z], [t.x, t.y, t.z])
                .map_err(|cause| damaged(&cause))?
        }
        None => Similarity::IDENTITY,
    };
    let moved = pose.then(how);
    let group = |name: &str, parts: &[(&str, f64)]| {
        let mut text = format!("<{name} type=\"Structure\">");
        for (part, value) in parts {
            let mut number = Vec::new();
            push_number(&mut number, *value);
            text += &format!("<{part} type=\"Float\">{}</{part}>", String::from_utf8_lossy(&number));
        }
        text + &format!("</{name}>")
    };
    let ([w, x, y, z], [tx, ty, tz]) = (moved.quaternion(), moved.translation());
    let rotation = group("rotation", &[("w", w), ("x", x), ("y", y), ("z", z)]);
    let translation = group("translation", &[("x", tx), ("y", ty), ("z", tz)]);
    Ok(format!("<pose type=\"Structure\">{rotation}{translation}</pose>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xE306_9283);
        assert_eq!(checksum(&[0; 32]), 0x8A91_36AA);
    }

    #[test]
    fn pages_are_filled() {
        let mut out = Vec::new();
        let mut pages = Pages { out: &mut out, payload: Vec::new() };
        pages.write(&[1; 1500]).expect("a vector");
        pages.write(&[2; 20]).expect("a vector");
        pages.finish().expect("a vector");
        assert_eq!(out.len(), 2048);
        assert_eq!(out[1020..1024], checksum(&[1; 1020]).to_be_bytes());
        assert_eq!((out[1024 + 479], out[1024 + 480], out[1024 + 500]), (1, 2, 0));
    }
}
