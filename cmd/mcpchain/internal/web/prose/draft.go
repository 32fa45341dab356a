package prose

import (
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// Draft is a text that a model is writing, block by block. What is complete is read once. The
// zero value is an empty text; it is for one goroutine at a time.
type Draft struct {
	Blocks []([]Node) // complete

	open  strings.Builder // the block that is still written
	line  strings.Builder // its last line, unfinished
	fence string          // that ends the code; "" outside of code
	size  int

	read   []Node // the open block, for the size it was read at
	readAt int
}

// Add takes a piece of the text. Beyond MaxText it is dropped: the whole comes with the
// reply.
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
		d.take(d.line.String())
		d.line.Reset()
		piece = rest
	}
}

// maxOpen bounds a block that is read again with each piece, in bytes.
const maxOpen = 16 << 10

// Open is the block that is not complete. It is read once for all who show it.
func (d *Draft) Open() []Node {
	if d.readAt != d.size {
		d.read, d.readAt = d.readOpen(), d.size
	}
	return d.read
}

func (d *Draft) readOpen() []Node {
	rest := d.open.String() + d.line.String()
	switch {
	case strings.TrimSpace(rest) == "":
		return nil
	case len(rest) > maxOpen:
		return []Node{element("pre", plain(hosttext.Prose(rest[len(rest)-maxOpen:])))}
	}
	return Tree(rest)
}

// Empty reports whether nothing was written.
func (d *Draft) Empty() bool { return d.size == 0 }

var fenceLine = regexp.MustCompile("^ {0,3}(```+|~~~+)[^`]*$")

// take takes a whole line. A blank line outside of code ends a block.
func (d *Draft) take(line string) {
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

func (d *Draft) close() {
	if strings.TrimSpace(d.open.String()) != "" {
		d.Blocks = append(d.Blocks, Tree(d.open.String()))
	}
	d.open.Reset()
}
