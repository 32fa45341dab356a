// Package media says which media a model accepts.
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
