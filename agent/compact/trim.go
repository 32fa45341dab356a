package compact

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// trimMessage trims the results of a message. It copies a part before it changes it.
func trimMessage(m *run.Message, limit int) (out run.Message, changed bool) {
	for i := range m.Parts {
		if !isLong(&m.Parts[i], limit) {
			continue
		}
		if !changed {
			out, changed = *m, true
			out.Parts = slices.Clone(m.Parts)
		}
		trimResult(&out.Parts[i], limit)
	}
	return out, changed
}

func isLong(p *run.Part, limit int) bool {
	return p.Type == run.PartResult && (len(p.Text) > limit || slices.ContainsFunc(p.Media, hasData))
}

func hasData(m run.Part) bool { return m.Data != nil }

// trimResult removes the media of a result, and shortens its text to limit bytes, including the
// note about the media.
func trimResult(p *run.Part, limit int) {
	kept := slices.DeleteFunc(slices.Clone(p.Media), hasData)
	dropped := len(p.Media) - len(kept)
	note := ""
	if dropped > 0 {
		p.Media = slices.Clip(kept)
		note = fmt.Sprintf("\n[%d media of this result were left out to save room.]", dropped)
	}
	p.Text = shorten(p.Text, limit-len(note)) + note
}

// cutMark matches the note where package adapter or agent has shortened a result.
var cutMark = regexp.MustCompile(`\n\[… (\d+) of (\d+) bytes were cut here` +
	`(?:; call (\S+) with \{"handle":"([^"\\]+)","offset":(\d+)\} to read them(; the whole is [^\n]*?)?)? …\]\n`)

// cutText is a text whose middle may be missing. The head and the tail of a whole text are both the text.
type cutText struct {
	head, tail  string
	total       int    // bytes of the full text
	reader      string // the tool that reads the full text, "" if there is none
	handle      string
	description string // of the full text
}

// parse finds the gap of a text that was shortened before. If its numbers do not fit, the note
// is not ours: the gap is then in the middle, and nothing is missing.
func parse(text string) cutText {
	for _, m := range cutMark.FindAllStringSubmatchIndex(text, -1) {
		c := cutText{head: text[:m[0]], tail: text[m[1]:]}
		missing, _ := strconv.Atoi(text[m[2]:m[3]])
		c.total, _ = strconv.Atoi(text[m[4]:m[5]])
		offset := len(c.head)
		if m[6] >= 0 {
			c.reader, c.handle = text[m[6]:m[7]], text[m[8]:m[9]]
			offset, _ = strconv.Atoi(text[m[10]:m[11]])
			if m[12] >= 0 {
				c.description = text[m[12]:m[13]]
			}
		}
		if offset == len(c.head) && len(c.head)+missing+len(c.tail) == c.total {
			return c
		}
	}
	return cutText{head: text, tail: text, total: len(text)}
}

// mark returns the note that stands for the bytes after a head of that many bytes.
func (c *cutText) mark(head, missing int) string {
	if c.handle == "" {
		return fmt.Sprintf("\n[… %d of %d bytes were cut here …]\n", missing, c.total)
	}
	return fmt.Sprintf("\n[… %d of %d bytes were cut here; call %s with {\"handle\":%q,\"offset\":%d} to read them%s …]\n",
		missing, c.total, c.reader, c.handle, head, c.description)
}

// shorten keeps the first three quarters and the last quarter of limit bytes of a longer text,
// with the handle for the rest.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	c := parse(text)
	if len(c.mark(c.total, c.total)) > limit {
		c = cutText{head: text, tail: text, total: len(text)} // a server has forged the mark
	}
	room := max(limit-len(c.mark(c.total, c.total)), 0)
	head := c.head[:excerpt.Before(c.head, room*3/4)]
	tail := c.tail[excerpt.After(c.tail, len(c.tail)-(room-len(head))):]
	return head + c.mark(len(head), c.total-len(head)-len(tail)) + tail
}
