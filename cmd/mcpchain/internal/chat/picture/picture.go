// Package picture draws pictures on terminals that can show them.
//
// Nothing of a peer's file reaches the terminal: the picture is decoded, scaled down and encoded
// again.
package picture

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"  // a format of Decode
	_ "image/jpeg" // a format of Decode
	"image/png"    // also a format of Decode
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/iterm2"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"
)

// Protocol is a protocol by which terminals receive pictures.
type Protocol int

// The protocols.
const (
	None   Protocol = iota
	Kitty           // kitty and Ghostty
	ITerm2          // iTerm2 and WezTerm
	Sixel           // many others
)

// Detect returns the protocol of a terminal that the environment names. It reports false if the program has to ask the
// terminal, as within a multiplexer, which hides the name of its terminal.
func Detect(getenv func(string) string) (Protocol, bool) {
	if getenv("TMUX") != "" || getenv("STY") != "" {
		return None, false
	}
	term := getenv("TERM")
	switch program := getenv("TERM_PROGRAM"); {
	case getenv("KITTY_WINDOW_ID") != "", strings.Contains(term, "kitty"):
		return Kitty, true
	case program == "ghostty", strings.Contains(term, "ghostty"):
		return Kitty, true
	case program == "iTerm.app", program == "WezTerm", getenv("LC_TERMINAL") == "iTerm2":
		return ITerm2, true
	}
	return None, false
}

// Bounds of a picture that is decoded.
const (
	maxSide   = 16_384 // pixels
	maxPixels = 16 << 20
)

// Decode decodes a PNG, a JPEG, or the first picture of a GIF.
func Decode(data []byte) (image.Image, error) {
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	smallest, largest := min(size.Width, size.Height), max(size.Width, size.Height)
	if smallest < 1 || largest > maxSide || size.Width*size.Height > maxPixels {
		return nil, fmt.Errorf("a picture of %d by %d pixels is not shown", size.Width, size.Height)
	}
	picture, _, err := image.Decode(bytes.NewReader(data))
	return picture, err
}

// Cell is the size of a terminal's cell in pixels.
type Cell struct{ Width, Height int }

// orDefault returns c, or a small default if c is not a plausible size: a picture must not be
// larger than its cells.
func (c Cell) orDefault() Cell {
	if c.Width < 2 || c.Height < 4 || c.Width > 200 || c.Height > 400 {
		return Cell{6, 12}
	}
	return c
}

// fit returns the columns and rows that a picture of a size takes within the given ones. It is not
// enlarged.
func (c Cell) fit(size image.Point, columns, rows int) (int, int) {
	share := min(1, float64(columns*c.Width)/float64(size.X), float64(rows*c.Height)/float64(size.Y))
	cells := func(pixels, cell int) int {
		exact := share * float64(pixels) / float64(cell)
		return max(1, int(math.Ceil(exact-1e-9))) // without the error of rounding
	}
	return min(columns, cells(size.X, c.Width)), min(rows, cells(size.Y, c.Height))
}

// shrink scales a picture down to fit within width and height. Each pixel is the mean of those that
// it replaces.
func shrink(picture image.Image, width, height int) image.Image {
	b := picture.Bounds()
	share := min(1, float64(width)/float64(b.Dx()), float64(height)/float64(b.Dy()))
	width, height = max(1, int(share*float64(b.Dx()))), max(1, int(share*float64(b.Dy())))
	small := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			small.Set(x, y, mean(picture, image.Rect(
				b.Min.X+x*b.Dx()/width, b.Min.Y+y*b.Dy()/height,
				b.Min.X+max(x*b.Dx()/width+1, (x+1)*b.Dx()/width), b.Min.Y+max(y*b.Dy()/height+1, (y+1)*b.Dy()/height),
			)))
		}
	}
	return small
}

// mean returns the mean colour of a part of a picture.
func mean(picture image.Image, part image.Rectangle) color.Color {
	var r, g, b, a, n uint64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			pr, pg, pb, pa := picture.At(x, y).RGBA()
			r, g, b, a, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), a+uint64(pa), n+1
		}
	}
	return color.RGBA64{uint16(r / n), uint16(g / n), uint16(b / n), uint16(a / n)}
}

// Draw returns an escape sequence that draws a picture at the cursor within columns and rows, and
// the height in rows. Where it leaves the cursor depends on the protocol.
func (p Protocol) Draw(picture image.Image, cell Cell, columns, rows int) (sequence string, height int, err error) {
	cell = cell.orDefault()
	columns, rows = cell.fit(picture.Bounds().Size(), columns, rows)
	picture = shrink(picture, columns*cell.Width, rows*cell.Height)
	var b bytes.Buffer
	switch p {
	case Kitty:
		err = kitty.EncodeGraphics(&b, picture, &kitty.Options{
			Action:          kitty.TransmitAndPut,
			Transmission:    kitty.Direct,
			Format:          kitty.PNG,
			Quiet:           2, // the terminal does not answer
			Columns:         columns,
			Rows:            rows,
			DoNotMoveCursor: true,
			Chunk:           true,
		})
		return b.String(), rows, err
	case ITerm2:
		if err := png.Encode(&b, picture); err != nil {
			return "", 0, err
		}
		return ansi.ITerm2(iterm2.File{
			Size:    int64(b.Len()),
			Width:   iterm2.Cells(columns),
			Height:  iterm2.Cells(rows),
			Inline:  true,
			Content: []byte(base64.StdEncoding.EncodeToString(b.Bytes())),
		}), rows, nil
	case Sixel:
		err = (&sixel.Encoder{}).Encode(&b, picture)
		return ansi.SixelGraphics(0, 1, 0, b.Bytes()), rows, err
	}
	return "", 0, errors.New("this terminal shows no pictures")
}
