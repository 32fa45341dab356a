// Package media says what media are in a message, which of them a model accepts, and what they cost it.
package media

import (
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
)

// PartType returns the type of the part that holds media of a MIME type.
func PartType(mimeType string) run.PartType {
	switch {
	case strings.HasPrefix(mimeType, "image/"):
		return run.PartImage
	case strings.HasPrefix(mimeType, "audio/"):
		return run.PartAudio
	}
	return run.PartFile
}

// Accepts reports whether a model accepts media of a MIME type. accepts is the Media of the model's Info; nil means
// images of the usual types.
func Accepts(accepts func(mimeType string) bool, mimeType string) bool {
	if accepts != nil {
		return accepts(mimeType)
	}
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

const (
	minTokens  = 2000 // of an image, a sound or a file
	tokenBytes = 256  // of a larger one
)

// Tokens returns an upper bound on the tokens of an image, a sound or a file with that many bytes.
func Tokens(size int) int64 { return max(minTokens, int64(size)/tokenBytes) }
