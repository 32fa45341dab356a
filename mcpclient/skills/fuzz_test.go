package skills

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A skill that can be loaded has files that can be verified, within the bounds.
func FuzzSkill(f *testing.F) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	file := `{"uri":"skill://pdf/SKILL.md","digest":"` + digest + `","size":5}`
	f.Add([]byte(`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"d"},"resources":[` + file + `]}`))
	f.Add([]byte(`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf"},"resources":"dynamic"}`))
	f.Add([]byte(`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf"},"resources":[` + file + `,` + file + `,null,{"size":1e9}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s entry
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		if err := s.Check(); err != nil {
			check.That(t, len(err.Error()) <= 8<<10, "got an error of %d bytes", len(err.Error()))
			return
		}
		total := int64(0)
		seen := map[string]bool{}
		for _, file := range s.Files {
			total += *file.Size
			check.That(t, !seen[file.URI] && *file.Size >= 0 && len(file.Digest) == len(digest), "got file %+v of %s", file, raw)
			seen[file.URI] = true
		}
		check.That(t, seen[s.URI] && s.Name != "" && !s.dynamic && total <= maxBytes && len(s.Files) <= maxFiles, "got %+v of %s", s, raw)
	})
}
