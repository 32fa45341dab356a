package chat

import "strings"

// cutAtStop cuts a text before the stop sequence that is complete first, as a host does that looks at each token. If
// several end there, it cuts before the longest.
func cutAtStop(text string, stops []string) (string, bool) {
	at, end := -1, len(text)+1
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 && (i+len(s) < end || i+len(s) == end && i < at) {
			at, end = i, i+len(s)
		}
	}
	if at < 0 {
		return text, false
	}
	return text[:at], true
}

// stopFilter cuts a text that comes in pieces in the same way. It holds back text that may begin a stop sequence.
type stopFilter struct {
	stops []string
	held  string
}

// write adds a piece and returns the text in which no stop sequence can begin. The caller must not
// write more after a stop sequence.
func (f *stopFilter) write(piece string) (text string, stopped bool) {
	text, stopped = cutAtStop(f.held+piece, f.stops)
	hold := 0
	if !stopped {
		for _, s := range f.stops {
			hold = max(hold, overlap(text, s))
		}
	}
	f.held = text[len(text)-hold:]
	return text[:len(text)-hold], stopped
}

// flush returns the text that was held back, at the end of the text.
func (f *stopFilter) flush() string {
	held := f.held
	f.held = ""
	return held
}

// overlap returns the length of the longest beginning of word, other than word itself, at the end of the text.
func overlap(text, word string) int {
	n := min(len(text), len(word)-1)
	for !strings.HasSuffix(text, word[:n]) {
		n--
	}
	return n
}
