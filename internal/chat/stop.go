package chat

import "strings"

// cutAtStop ends a text before the first stop sequence in it.
func cutAtStop(text string, stops []string) (string, bool) {
	at := -1
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 {
		return text, false
	}
	return text[:at], true
}

// stopFilter does the same to a text in pieces. It holds back a possible
// beginning of a stop sequence.
type stopFilter struct {
	stops []string
	held  string
}

// write takes a piece and returns the text that is certainly before a stop
// sequence. After a stop sequence the caller writes nothing more.
func (f *stopFilter) write(piece string) (text string, stopped bool) {
	if len(f.stops) == 0 {
		return piece, false
	}
	text, stopped = cutAtStop(f.held+piece, f.stops)
	if stopped {
		f.held = ""
		return text, true
	}
	hold := 0
	for _, s := range f.stops {
		for n := min(len(s)-1, len(text)); n > hold; n-- {
			if strings.HasSuffix(text, s[:n]) {
				hold = n
			}
		}
	}
	f.held = text[len(text)-hold:]
	return text[:len(text)-hold], false
}

// flush returns the held back text at the end.
func (f *stopFilter) flush() string {
	held := f.held
	f.held = ""
	return held
}
