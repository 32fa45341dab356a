package prose

import (
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
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

// Add appends a piece of text, unless the text is longer than MaxText already: the reply has the full text.
func (d *Draft) Add(piece string) {
	if d.size > MaxText {
		return
	}
	d.size += len(piece)
	for {
		line, rest, found := strings.Cut(piece, "\n")
		d.line.WriteString(line)
		if !found {
			return
		}
		d.addLine(d.line.String())
		d.line.Reset()
		piece = rest
	}
}

// maxOpen bounds a block that is parsed again with each piece, in bytes.
const maxOpen = 16 << 10

// Open returns the current block, nil if it is blank. It is parsed once for all callers.
func (d *Draft) Open() []Node {
	if d.openSize != d.size {
		d.openNodes, d.openSize = d.parseOpen(), d.size
	}
	return d.openNodes
}

// parseOpen parses the current block. Of a block above maxOpen it returns the last lines, unparsed.
func (d *Draft) parseOpen() []Node {
	rest := d.open.String() + d.line.String()
	switch {
	case strings.TrimSpace(rest) == "":
		return nil
	case len(rest) > maxOpen:
		end := rest[len(rest)-maxOpen:]
		if _, lines, found := strings.Cut(end, "\n"); found {
			end = lines
		}
		return []Node{element("pre", plain("…\n"+hosttext.Prose(end)))}
	}
	return Tree(rest)
}

// fenceLine matches the line that begins code.
var fenceLine = regexp.MustCompile("^ {0,3}(```+|~~~+)[^`]*$")

// addLine adds a complete line. A blank line outside of code ends a block.
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
	d.open.WriteString(line + "\n")
}

// close ends the current block. It drops a blank one.
func (d *Draft) close() {
	if strings.TrimSpace(d.open.String()) != "" {
		d.Blocks = append(d.Blocks, Tree(d.open.String()))
	}
	d.open.Reset()
}
