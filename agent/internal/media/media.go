// Package media says which media a model accepts, and what they cost it.
package media

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
