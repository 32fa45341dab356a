package prose

import (
	"regexp"
	"strings"
)

// Draft is text that a model is writing, block by block. Complete blocks are parsed once. The
// zero value is empty. It is not safe for concurrent use.
type Draft struct {
	Blocks []([]Node) // complete

	open  strings.Builder // the complete lines of the current block
	line  strings.Builder // the line that follows them
	fence string          // the mark that ends the code; "" outside of code
	size  int             // bytes of the text

	openNodes []Node // the current block, as it was last parsed
	openSize  int    // the size at that time
}

// maxOpen bounds the current block, in bytes, because it is parsed again with each piece. A longer block becomes several,
// each with whole lines, or with a part of a line that is as long.
const maxOpen = 16 << 10

// Add appends a piece of text, unless the text is longer than MaxText already: the reply has the full text.
func (d *Draft) Add(piece string) {
	if d.size > MaxText {
		return
	}
	d.size += len(piece)
	for line := range strings.Lines(piece) {
		d.line.WriteString(line)
		if strings.HasSuffix(line, "\n") || d.line.Len() > maxOpen {
			d.addLine(d.line.String())
			d.line.Reset()
		}
	}
}

// Open returns the current block, nil if it is blank. It is parsed once for all callers.
func (d *Draft) Open() []Node {
	if d.openSize != d.size {
		d.openNodes, d.openSize = nil, d.size
		if rest := d.open.String() + d.line.String(); strings.TrimSpace(rest) != "" {
			d.openNodes = Tree(rest)
		}
	}
	return d.openNodes
}

// fenceLine matches the line that begins code. It is short, because each block of long code begins with its mark.
var fenceLine = regexp.MustCompile("^ {0,3}(`{3,20}|~{3,20})[^`]{0,200}$")

// addLine adds a line. A blank line outside of code ends a block.
func (d *Draft) addLine(line string) {
	switch mark := strings.TrimSpace(line); {
	case d.fence != "":
		if strings.HasPrefix(mark, d.fence) && strings.Trim(mark, d.fence[:1]) == "" {
			d.fence = ""
		}
	case mark == "":
		d.close()
		return
	default:
		if m := fenceLine.FindStringSubmatch(line); m != nil {
			d.fence = m[1]
		}
	}
	d.open.WriteString(line)
	if d.open.Len() > maxOpen {
		d.close()
		if d.fence != "" {
			d.open.WriteString(d.fence + "\n")
		}
	}
}

// close ends the current block. It drops a blank one.
func (d *Draft) close() {
	if strings.TrimSpace(d.open.String()) != "" {
		d.Blocks = append(d.Blocks, Tree(d.open.String()))
	}
	d.open.Reset()
}
