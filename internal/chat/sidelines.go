package chat

import (
	"bytes"
	"io"
)

// sideLines keeps the lines of an event stream that hold no field of an event:
// some hosts put bare JSON there, of an error or of the whole answer.
type sideLines struct {
	r       io.Reader
	kept    []byte
	within  bool // a line
	keeping bool // that line
}

func (s *sideLines) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if !s.within {
			s.keeping = !isField(rest[0])
		}
		end := bytes.IndexByte(rest, '\n') + 1
		if s.within = end == 0; s.within {
			end = len(rest)
		}
		if s.keeping {
			s.kept = append(s.kept, rest[:end]...)
		}
		rest = rest[end:]
	}
	return n, err
}

// isField says whether a line with this first byte may be a field or a comment
// of an event stream, or blank.
func isField(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '\r' || c == '\n'
}
