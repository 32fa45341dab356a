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

// stopFilter does the same to a text in pieces. It holds back what may be the beginning of a stop sequence.
type stopFilter struct {
	stops []followedStop
	held  string
}

func newStopFilter(stops []string) stopFilter {
	var f stopFilter
	for _, s := range stops {
		f.stops = append(f.stops, followStop(s))
	}
	return f
}

// write takes a piece and returns the text that no stop sequence can begin in. After a stop sequence the caller must
// not write more.
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
		hold = max(hold, f.stops[i].at)
	}
	f.held = text[len(text)-hold:]
	return text[:len(text)-hold], false
}

// flush returns the held back text at the end of the text.
func (f *stopFilter) flush() string {
	held := f.held
	f.held = ""
	return held
}

// followedStop looks for a stop sequence byte by byte, in linear time, as Knuth,
// Morris and Pratt do.
type followedStop struct {
	word string
	at   int   // length of the longest beginning of word at the end of the text
	back []int // back[i] is that length for word[:i+1], shorter than i+1
}

func followStop(word string) followedStop {
	s := followedStop{word: word, back: make([]int, len(word))}
	for i := 1; i < len(word); i++ {
		s.next(word[i])
		s.back[i] = s.at
	}
	s.at = 0
	return s
}

// next takes a byte of the text, and reports whether it completes the sequence.
func (s *followedStop) next(c byte) bool {
	for s.at > 0 && s.word[s.at] != c {
		s.at = s.back[s.at-1]
	}
	if s.word[s.at] == c {
		s.at++
	}
	return s.at == len(s.word)
}
