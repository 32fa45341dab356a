package picture

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/png"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/iterm2"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"
)

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

// Draw returns an escape sequence that draws a picture at the cursor within columns and rows, and the height in rows.
// Where it leaves the cursor depends on the protocol.
func (p Protocol) Draw(picture image.Image, cell Cell, columns, rows int) (sequence string, height int, err error) {
	cell = cell.orDefault()
	columns, rows = cell.fit(picture.Bounds().Size(), columns, rows)
	picture = shrink(picture, columns*cell.Width, rows*cell.Height)
	var b bytes.Buffer
	switch p {
	case Kitty:
		err = kitty.EncodeGraphics(&b, picture, &kitty.Options{
			Action: kitty.TransmitAndPut, Transmission: kitty.Direct, Format: kitty.PNG, Quiet: 2, Columns: columns, Rows: rows, DoNotMoveCursor: true, Chunk: true,
		})
		return b.String(), rows, err
	case ITerm2:
		if err := png.Encode(&b, picture); err != nil {
			return "", 0, err
		}
		return ansi.ITerm2(iterm2.File{
			Size: int64(b.Len()), Width: iterm2.Cells(columns), Height: iterm2.Cells(rows), Inline: true,
			Content: []byte(base64.StdEncoding.EncodeToString(b.Bytes())),
		}), rows, nil
	case Sixel:
		err = (&sixel.Encoder{}).Encode(&b, picture)
		return ansi.SixelGraphics(0, 1, 0, b.Bytes()), rows, err
	}
	return "", 0, errors.New("this terminal shows no pictures")
}
