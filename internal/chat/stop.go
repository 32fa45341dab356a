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
	stops []stopMatcher
	held  string
}

func newStopFilter(stops []string) stopFilter {
	var f stopFilter
	for _, s := range stops {
		f.stops = append(f.stops, newStopMatcher(s))
	}
	return f
}

// write adds a piece and returns the text in which no stop sequence can begin. The caller must not
// write more after a stop sequence.
func (f *stopFilter) write(piece string) (text string, stopped bool) {
	if len(f.stops) == 0 {
		return piece, false
	}
	text = f.held + piece
	for i := range len(piece) {
		longest := 0
		for j := range f.stops {
			if s := &f.stops[j]; s.next(piece[i]) {
				longest = max(longest, len(s.word))
			}
		}
		if longest > 0 {
			end := len(f.held) + i + 1
			f.held = ""
			return text[:end-longest], true
		}
	}
	hold := 0
	for i := range f.stops {
		hold = max(hold, f.stops[i].matched)
	}
	f.held = text[len(text)-hold:]
	return text[:len(text)-hold], false
}

// flush returns the text that was held back, at the end of the text.
func (f *stopFilter) flush() string {
	held := f.held
	f.held = ""
	return held
}

// stopMatcher looks for a stop sequence byte by byte, in linear time, as Knuth,
// Morris and Pratt do.
type stopMatcher struct {
	word     string
	matched  int   // length of the longest beginning of word that is at the end of the text
	fallback []int // fallback[i] is this length for the text word[:i+1], shorter than i+1
}

func newStopMatcher(word string) stopMatcher {
	s := stopMatcher{word: word, fallback: make([]int, len(word))}
	for i := 1; i < len(word); i++ {
		s.next(word[i])
		s.fallback[i] = s.matched
	}
	s.matched = 0
	return s
}

// next reads a byte of the text and returns true if it completes the sequence.
func (s *stopMatcher) next(c byte) bool {
	for s.matched > 0 && s.word[s.matched] != c {
		s.matched = s.fallback[s.matched-1]
	}
	if s.word[s.matched] == c {
		s.matched++
	}
	return s.matched == len(s.word)
}
