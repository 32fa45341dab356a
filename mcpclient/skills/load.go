package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/skills/internal/frontmatter"
)

// Load reads the SKILL.md of a skill, and no other file, and returns what follows its front matter. The text comes from
// the server: tell the model so. Load returns an error if [Skill.Check] does, and if the size, the SHA-256 or the front
// matter differs from the entry's: then the server may have a newer version, which [Get] returns. A matching digest
// proves that the contents are the announced ones, not that they are safe.
func Load(ctx context.Context, c *mcpclient.Client, s *Skill, opts ...mcpclient.CallOption) (instructions string, err error) {
	if s == nil {
		return "", errors.New("load skill: no skill (nil)")
	}
	document, err := ReadFile(ctx, c, s, s.URI, opts...)
	if err != nil {
		return "", err
	}
	body, err := compareFrontmatter(document, s.Frontmatter)
	if err != nil {
		c.ClearCache() // the entry or the file is out of date
		return "", s.fileError(s.URI, err)
	}
	return string(body), nil
}

// compareFrontmatter checks that the front matter of a document is want, and returns the text after it.
func compareFrontmatter(document []byte, want json.RawMessage) (body []byte, err error) {
	got, body, err := frontmatter.Parse(document)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(want, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if other, ok := got[name]; !ok || !reflect.DeepEqual(value, other) {
			return nil, fmt.Errorf("front matter differs from the entry in %q", excerpt.Cut(name))
		}
		delete(got, name)
	}
	for name := range got {
		return nil, fmt.Errorf("front matter has %q, which the entry does not", excerpt.Cut(name))
	}
	return body, nil
}

// fileError returns the error of a file that is not used. The URIs are cut to 1 KiB.
func (s *Skill) fileError(file string, reason error) error {
	return fmt.Errorf("skill %q: file %q is not used: %w", excerpt.Cut(s.URI), excerpt.Cut(file), reason)
}

// ReadFile reads one file of a skill, of at most 16 MiB, from its server. Run none without a person's
// approval. It returns an error if [Skill.Check] does, if the file is not one of the entry, or if its
// size or SHA-256 differs from the entry.
func ReadFile(ctx context.Context, c *mcpclient.Client, s *Skill, uri string, opts ...mcpclient.CallOption) ([]byte, error) {
	if s == nil {
		return nil, errors.New("read file of a skill: no skill (nil)")
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("skill %q is not loaded: %w", excerpt.Cut(s.URI), err)
	}
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.URI == uri })
	if i < 0 {
		return nil, s.fileError(uri, errors.New("not among the files of the skill"))
	}
	result, err := c.ReadResource(ctx, uri, opts...)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", excerpt.Cut(s.URI), err)
	}
	content, err := s.Files[i].verify(result)
	if err != nil {
		c.ClearCache() // the entry or the file is out of date
		return nil, s.fileError(uri, err)
	}
	return content, nil
}

// verify returns the contents if they match the file's entry: its URI, size and SHA-256.
func (f *File) verify(result *mcp.ReadResourceResult) ([]byte, error) {
	if len(result.Contents) != 1 || result.Contents[0].URI != f.URI {
		return nil, errors.New("server answered with other contents")
	}
	content := result.Contents[0].Blob
	if content == nil {
		content = []byte(result.Contents[0].Text)
	}
	if int64(len(content)) != *f.Size {
		return nil, fmt.Errorf("%d bytes, want %d", len(content), *f.Size)
	}
	if sum := sha256.Sum256(content); !strings.EqualFold(hex.EncodeToString(sum[:]), strings.TrimPrefix(f.Digest, "sha256:")) {
		return nil, errors.New("SHA-256 differs from the entry")
	}
	return content, nil
}
