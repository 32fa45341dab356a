package chat

import (
	"encoding/json"
	"strings"
)

// The tags between which many models think. Hosts without a parser for the model leave them in the text.
const (
	thoughtStart = "<think>"
	thoughtEnd   = "</think>"
)

const blanks = " \t\r\n"

// thoughtFilter parts a text into a thought at its beginning, within tags, and the rest. The text may come in pieces.
type thoughtFilter struct {
	at   thoughtPlace
	held string // what may be a part of a tag
}

type thoughtPlace int

const (
	atStart thoughtPlace = iota
	inThought
	behindThought // before the first character of the rest
	inRest
)

// hasTags reports whether a thought may begin the text of a reply: the host does not separate thoughts itself.
func (d *draft) hasTags() bool { return d.endpoint == Chat && d.profile.Tags }

// splitThought splits a thought without its first tag from a complete text: templates such as those of DeepSeek-R1 write
// that tag into the prompt. A stream has shown the thought as text.
func (d *draft) splitThought(text string) (thought, rest string) {
	thought, rest, ended := strings.Cut(text, thoughtEnd)
	if !d.hasTags() || !ended || strings.Contains(thought, thoughtStart) || isMention(thought, rest) || json.Valid([]byte(text)) {
		return "", text
	}
	return thought, strings.TrimLeft(rest, blanks)
}

// isMention reports whether a tag between two texts is a word: in quotes, within a line behind a space, or in a block of code.
func isMention(before, after string) bool {
	inLine := after != "" && !strings.ContainsAny(after[:1], "\r\n")
	return strings.TrimRight(before, "`'\"") != before || inLine && strings.HasSuffix(before, " ") || strings.Count(before, "```")%2 == 1
}

// write adds a piece and returns what has become known of the thought and of the rest.
func (f *thoughtFilter) write(piece string) (thought, rest string) {
	text := f.held + piece
	f.held = ""
	if f.at == atStart {
		if len(text) < len(thoughtStart) && strings.HasPrefix(thoughtStart, text) {
			f.held = text
			return "", ""
		}
		f.at = inRest
		if after, ok := strings.CutPrefix(text, thoughtStart); ok {
			f.at, text = inThought, after
		}
	}
	if f.at == inThought {
		before, after, ended := strings.Cut(text, thoughtEnd)
		if !ended {
			n := len(text) - overlap(text, thoughtEnd)
			f.held = text[n:]
			return text[:n], ""
		}
		f.at, thought, text = behindThought, before, after
	}
	if f.at == behindThought {
		if text = strings.TrimLeft(text, blanks); text != "" {
			f.at = inRest
		}
	}
	return thought, text
}

// flush returns what was held back, at the end of the text.
func (f *thoughtFilter) flush() (thought, rest string) {
	held := f.held
	f.held = ""
	if f.at == inThought {
		return held, ""
	}
	return "", held
}
