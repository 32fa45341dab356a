package chat

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMediaTypes(t *testing.T) {
	for _, tt := range []struct{ typ, image, audio string }{
		{"image/png", "image/png", ""}, {"image/PNG; x=,y", "image/png", ""}, {"image/jpg", "image/jpeg", ""},
		{"image/webp", "image/webp", ""}, {"image/svg+xml", "", ""}, {"audio/wav", "", "wav"},
		{"Audio/X-Wav", "", "wav"}, {"audio/mpeg", "", "mp3"}, {"audio/ogg", "", ""}, {"", "", ""},
	} {
		image, isImage := ImageType(tt.typ)
		audio, isAudio := AudioFormat(tt.typ)
		check.That(t, image == tt.image && isImage == (tt.image != "") && audio == tt.audio && isAudio == (tt.audio != ""),
			"%q: got image %q, %t and audio %q, %t, want %q and %q", tt.typ, image, isImage, audio, isAudio, tt.image, tt.audio)
	}
}
