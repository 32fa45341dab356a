// Package picturetest reads the pictures that a terminal gets, for tests.
package picturetest

import (
	"encoding/base64"
	"image"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi/sixel"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/picture"
)

// maxChunk is the most that Kitty's protocol allows in a chunk, in bytes.
const maxChunk = 4096

var kittyChunk = regexp.MustCompile(`\x1b_G([^;]*);([^\x1b]*)\x1b\\`)

// Read returns the picture of an escape sequence.
func Read(t testing.TB, p picture.Protocol, sequence string) image.Image {
	t.Helper()
	var img image.Image
	var err error
	switch p {
	case picture.Kitty:
		img, err = readPNG(readKitty(t, sequence))
	case picture.ITerm2:
		_, payload, _ := strings.Cut(strings.TrimSuffix(sequence, "\a"), ":")
		img, err = readPNG(payload)
	case picture.Sixel:
		_, payload, _ := strings.Cut(strings.TrimSuffix(sequence, "\x1b\\"), "q")
		img, err = new(sixel.Decoder).Decode(strings.NewReader(payload))
	default:
		t.Fatalf("%v has no pictures", p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// readKitty joins the chunks of a picture. Each but the last one says that more follow.
func readKitty(t testing.TB, sequence string) (payload string) {
	t.Helper()
	chunks := kittyChunk.FindAllStringSubmatch(sequence, -1)
	for i, chunk := range chunks {
		isLast, saysMore := i == len(chunks)-1, strings.Contains(chunk[1], "m=1")
		if len(chunks) > 1 && saysMore == isLast || len(chunk[2]) > maxChunk {
			t.Errorf("chunk %d: got %s with %d bytes", i, chunk[1], len(chunk[2]))
		}
		payload += chunk[2]
	}
	return payload
}

func readPNG(payload string) (image.Image, error) {
	return png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(payload)))
}
