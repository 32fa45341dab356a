package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/picture"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/picture/picturetest"
	"github.com/mcpchain/mcpchain/internal/check"
)

// halves returns a picture that is red on the left and blue on the right.
func halves(width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(img, image.Rect(0, 0, width/2, height), image.NewUniform(color.RGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(width/2, 0, width, height), image.NewUniform(color.RGBA{0, 0, 255, 255}), image.Point{}, draw.Src)
	return img
}

// Each protocol draws the same picture within its cells.
func TestDraw(t *testing.T) {
	for _, protocol := range []picture.Protocol{picture.Kitty, picture.ITerm2, picture.Sixel} {
		sequence, rows, err := protocol.Draw(halves(900, 300), picture.Cell{Width: 10, Height: 20}, 60, 8)
		check.Must(t, err)
		check.That(t, rows == 8 && ansi.StringWidth(sequence) == 0 && ansi.Strip(sequence) == "",
			"%v: got %d rows and %d columns of text, want 8 and 0", protocol, rows, ansi.StringWidth(sequence))
		img := picturetest.Read(t, protocol, sequence)
		size := img.Bounds().Size()
		check.That(t, size.X == 480 && size.Y == 160, "%v: got %v, want 480 by 160 pixels", protocol, size)
		left, _, _, _ := img.At(10, 80).RGBA()
		_, _, right, _ := img.At(470, 80).RGBA()
		if left < 0xf000 || right < 0xf000 {
			t.Errorf("%v: got %v and %v, want red and blue", protocol, img.At(10, 80), img.At(470, 80))
		}
	}
	if _, _, err := picture.None.Draw(halves(2, 2), picture.Cell{}, 10, 10); err == nil {
		t.Error("a terminal without pictures got one")
	}
}

// A small picture is not enlarged, and a thin one keeps at least a pixel.
func TestSizes(t *testing.T) {
	for _, tt := range []struct{ width, height, rows, x, y int }{{40, 30, 2, 40, 30}, {10_000, 1, 1, 600, 1}, {1, 10_000, 8, 1, 160}} {
		sequence, rows, err := picture.Kitty.Draw(halves(tt.width, tt.height), picture.Cell{Width: 10, Height: 20}, 60, 8)
		check.Must(t, err)
		size := picturetest.Read(t, picture.Kitty, sequence).Bounds().Size()
		check.That(t, rows == tt.rows && size == image.Pt(tt.x, tt.y), "%d by %d: got %d rows, %v", tt.width, tt.height, rows, size)
	}
}

// A picture that claims to be huge is not decoded.
func TestDecode(t *testing.T) {
	var b bytes.Buffer
	check.Must(t, png.Encode(&b, halves(4, 4)))
	img, err := picture.Decode(b.Bytes())
	check.That(t, err == nil && img.Bounds().Dx() == 4, "got %v, %v", img, err)
	huge := b.Bytes()
	binary.BigEndian.PutUint32(huge[16:], 16_000)
	binary.BigEndian.PutUint32(huge[20:], 16_000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	_, err = picture.Decode(huge)
	check.That(t, err != nil && strings.Contains(err.Error(), "16000 by 16000"), "got %v, want the size that is refused", err)
	check.Fails(t, check.Err(picture.Decode([]byte("<svg/>"))), "got a picture of no picture")
}

func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		env   map[string]string
		want  picture.Protocol
		known bool
	}{
		{map[string]string{"TERM": "xterm-kitty"}, picture.Kitty, true},
		{map[string]string{"TERM_PROGRAM": "ghostty"}, picture.Kitty, true},
		{map[string]string{"TERM_PROGRAM": "iTerm.app"}, picture.ITerm2, true},
		{map[string]string{"KITTY_WINDOW_ID": "1", "TMUX": "/tmp/x"}, picture.None, false},
		{map[string]string{"TERM": "xterm-256color"}, picture.None, false},
	} {
		got, known := picture.Detect(func(key string) string { return tt.env[key] })
		check.That(t, got == tt.want && known == tt.known, "%v: got %v, %v", tt.env, got, known)
	}
}
