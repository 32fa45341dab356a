// Package skills lists, reads and verifies the skills of a server: instructions for a model, with their files.
//
//	for skill, err := range skills.List(ctx, client) {
//		…
//		instructions, err := skills.Load(ctx, client, skill)
//		…
//	}
//
// A server has skills if it declares the extension io.modelcontextprotocol/skills. No
// file is read before it is asked for.
//
// Package agent/skillset gives skills to a model; see docs/agent.md of the repository.
//
// # Bounds
//
//	files of a skill            512, 16 MiB together
//	front matter of a SKILL.md  16 KiB
//	… of an entry in the list   128 KiB
package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of one skill.
const (
	maxFiles = 512
	maxBytes = 16 << 20 // for all files together
)

// Skill is an entry of a server's list of skills: instructions for a model, with their files. It is
// a claim of the server; [Load] compares the delivered files with it.
//
// Neither name nor URI is unique among servers: identify a skill by its URI and the host's own name
// of its server. No text of a skill, not even allowed-tools, grants permission.
type Skill struct {
	URI string // where its SKILL.md is

	// Frontmatter is the front matter of SKILL.md, as a JSON object.
	Frontmatter json.RawMessage
	Name        string // from the front matter
	Description string // from the front matter

	// Files are all files of the skill, SKILL.md included. It is nil for a dynamic skill:
	// nothing of it can be verified, and it is not loaded.
	Files []File

	dynamic bool
	problem error // what is wrong with the entry's form
}

// File is one file of a [Skill].
type File struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and 64 hexadecimal digits
	Size   *int64 `json:"size"`   // bytes
}

// maxEntryHead bounds the front matter in an entry, in bytes: JSON may write one character of the document as six.
const maxEntryHead = 128 << 10

// entry is a skill as a server lists it.
type entry struct{ Skill }

// UnmarshalJSON keeps an invalid entry; [Skill.Check] returns the reason.
func (s *entry) UnmarshalJSON(data []byte) error {
	var w struct {
		URI         string          `json:"uri"`
		Frontmatter json.RawMessage `json:"frontmatter"`
		Resources   json.RawMessage `json:"resources"`
	}
	err := json.Unmarshal(data, &w)
	s.Skill = Skill{URI: w.URI, Frontmatter: w.Frontmatter}
	if err != nil {
		s.problem = errors.New("entry is not an object with a uri")
		return nil
	}
	var head struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal(w.Frontmatter, &head); err != nil {
		s.problem = errors.New("front matter is not an object with a name and a description")
		return nil
	}
	s.Name = head.Name
	s.Description = head.Description
	switch {
	case len(w.Frontmatter) > maxEntryHead:
		s.problem = fmt.Errorf("front matter is over %d bytes", maxEntryHead)
	case string(w.Resources) == `"dynamic"`:
		s.dynamic = true
	case len(w.Resources) == 0 || w.Resources[0] != '[' || json.Unmarshal(w.Resources, &s.Files) != nil:
		s.Files = nil // Unmarshal may have filled it in part
		s.problem = errors.New(`resources are neither a list of files nor "dynamic"`)
	}
	return nil
}

// Check returns an error if the skill cannot be loaded: its entry is malformed, names files that
// cannot be verified, has more than 512 files or more than 16 MiB, or is dynamic.
func (s *Skill) Check() error {
	if s.problem != nil {
		return s.problem
	}
	u, err := url.Parse(s.URI)
	dir := "" // the directory of SKILL.md
	if err == nil {
		dir = path.Base(path.Dir(u.Opaque + u.Path)) // skill:name/SKILL.md has only an opaque part
		if dir == "." || dir == "/" {
			dir = u.Host // skill://name/SKILL.md
		}
	}
	switch {
	case err != nil || path.Base(s.URI) != "SKILL.md":
		return errors.New("URI does not lead to a SKILL.md")
	case s.Name == "" || dir != s.Name:
		return fmt.Errorf("URI does not have the name %q before SKILL.md", excerpt.Cut(s.Name))
	case s.dynamic:
		return errors.New("skill is dynamic, so its files cannot be verified")
	case len(s.Files) > maxFiles:
		return fmt.Errorf("%d files, more than %d", len(s.Files), maxFiles)
	}
	return s.checkFiles()
}

// checkFiles returns an error for a list of files that cannot be verified or is too large.
func (s *Skill) checkFiles() error {
	remaining := int64(maxBytes)
	seen := map[string]bool{}
	for _, f := range s.Files {
		sum, isSum := strings.CutPrefix(f.Digest, "sha256:")
		raw, err := hex.DecodeString(sum)
		switch {
		case f.URI == "" || seen[f.URI]:
			return fmt.Errorf("file %q is listed twice, or has no URI", excerpt.Cut(f.URI))
		case !isSum || err != nil || len(raw) != sha256.Size:
			return fmt.Errorf("file %q: digest is not a sha256", excerpt.Cut(f.URI))
		case f.Size == nil || *f.Size < 0:
			return fmt.Errorf("file %q has no size", excerpt.Cut(f.URI))
		case *f.Size > remaining:
			return fmt.Errorf("more than %d bytes", maxBytes)
		}
		remaining -= *f.Size
		seen[f.URI] = true
	}
	if !seen[s.URI] {
		return errors.New("SKILL.md is not among the files")
	}
	return nil
}

// List lists the server's skills, without reading any file. The list may be empty or partial: a skill that is not in it
// may be found by [Get]. Invalid entries are listed, too; see [Skill.Check]. An error is the last pair; for a server
// without skills it matches [mcpclient.ErrUndeclared].
func List(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) iter.Seq2[*Skill, error] {
	return func(yield func(*Skill, error) bool) {
		for e, err := range mcpclient.List[entry](ctx, c, "skills/list", "skills", opts...) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&e.Skill, nil) {
				return
			}
		}
	}
}

// Get asks for one skill by the URI of its SKILL.md, without reading any file. The error matches
// [mcp.ErrInvalidResult] if the server answers with another skill, or with no skill.
func Get(ctx context.Context, c *mcpclient.Client, uri string, opts ...mcpclient.CallOption) (*Skill, error) {
	var result struct {
		Skill *entry `json:"skill"`
	}
	raw, err := c.Call(ctx, "skills/get", map[string]string{"uri": uri}, opts...)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", uri, err)
	}
	if err = jsonrpc.LimitArrays(raw, jsonrpc.MaxElements); err == nil {
		err = jsonrpc.Unmarshal(raw, &result)
	}
	switch {
	case err != nil:
		c.ClearCache()
		return nil, fmt.Errorf("skill %q: %w: %v", uri, mcp.ErrInvalidResult, err)
	case result.Skill == nil || result.Skill.URI != uri:
		return nil, fmt.Errorf("skill %q: %w: the server answered with another skill, or none", uri, mcp.ErrInvalidResult)
	}
	return &result.Skill.Skill, nil
}
