// Package skillset gives the skills of servers to a model: names first, then instructions, then
// files.
//
// A skill is a set of instructions for a model, with files ([skills.Skill]). The model first gets
// only names and descriptions, in its system prompt. With the tool load_skill it reads the
// instructions of a skill, and with read_skill_file a file of it:
//
//	set, err := skillset.Open(ctx, clients, nil)
//	…
//	a, err := agent.New(model, &agent.Options{
//		System: "Be brief.\n\n" + set.Instructions(),
//		Tools:  []adapter.Source{toolset, set},
//	})
//
// A model that searches for its tools (agent.Options.Discover) finds skills by the same search.
//
// Each text is verified by [skills.Load] and marked as the text of a server: a skill grants no
// permission, and the tools that it lists are only a claim.
//
// The guide docs/agent.md of the repository has a chapter on skills.
package skillset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

const (
	maxSkills      = 100     // in a set
	maxName        = 256     // bytes of the name of a skill or a file
	maxDescription = 1 << 10 // bytes of a skill's description
	maxClaim       = 1 << 10 // bytes of the tools that a skill says it uses
)

// Set holds the skills of several servers, and is a source of tools for agents. It does not follow
// changes: open another set to list the skills again. It may be used concurrently.
type Set struct {
	adapter.Source
	skills  []*entry
	byName  map[string]*entry
	skipped []error
}

// entry is a skill of a set.
type entry struct {
	name   string // the model's name for it
	server string
	client *mcpclient.Client
	skill  *skills.Skill
	loaded atomic.Pointer[string] // its instructions; nil before the first call that succeeds
}

// Open lists the skills of servers, in the order of their labels. servers has their clients by label,
// for example Name and Client of what [adapter.Toolset.Servers] returns, without the servers that
// are idle or have failed: their Client is nil. A set has at most 100 skills; later ones are skipped.
// Servers without skills are ignored. allow reports whether the model is told about a skill of a server,
// by its label; nil allows all that can be verified. It is not called once the set is full. Open fails if
// a server's list cannot be read, or a client is nil.
func Open(
	ctx context.Context, servers map[string]*mcpclient.Client, allow func(server string, s *skills.Skill) bool,
) (*Set, error) {
	s := &Set{byName: map[string]*entry{}}
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		if servers[server] == nil {
			return nil, fmt.Errorf("client of server %q is nil: connect it first", server)
		}
		if err := s.list(ctx, server, servers[server], allow); err != nil {
			return nil, fmt.Errorf("list the skills of server %q: %w", server, err)
		}
	}
	s.name()
	s.Source = s.tools()
	return s, nil
}

// list adds the skills of a server, up to the bound of the set. What it leaves out is in skipped, except
// for skills that the host does not allow.
func (s *Set) list(ctx context.Context, server string, client *mcpclient.Client, allow func(string, *skills.Skill) bool) error {
	for skill, err := range skills.List(ctx, client) {
		if errors.Is(err, mcpclient.ErrUndeclared) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := skill.Check(); err != nil {
			s.skipped = append(s.skipped, err)
			continue
		}
		if len(s.skills) >= maxSkills {
			s.skipped = append(s.skipped, fmt.Errorf("skills of server %q are left out: a set has %d at most, choose them", server, maxSkills))
			return nil
		}
		if allow != nil && !allow(server, skill) {
			continue
		}
		s.skills = append(s.skills, &entry{name: excerpt.Line(skill.Name, maxName), server: server, client: client, skill: skill})
	}
	return nil
}

// name gives each skill a unique name, prefixed by its server if two have the same.
func (s *Set) name() {
	count := map[string]int{}
	for _, e := range s.skills {
		count[e.name]++
	}
	for _, e := range s.skills {
		if count[e.name] > 1 {
			e.name = e.server + "/" + e.name
		}
		for base, n := e.name, 2; s.byName[e.name] != nil; n++ {
			e.name = fmt.Sprintf("%s_%d", base, n)
		}
		s.byName[e.name] = e
	}
}

// tools returns the tools by which a model reads the skills. A search for tools finds load_skill by
// the skills.
func (s *Set) tools() adapter.Source {
	topics := make(map[string]string, len(s.skills))
	for _, e := range s.skills {
		topics[e.name] = e.description()
	}
	read := adapter.FuncOptions{Server: "skills", ReadOnly: true, AlwaysOffered: true}
	load := read
	load.Topics = topics
	return adapter.Merge(
		adapter.Func("load_skill", "Reads the instructions of a skill.", s.load, &load),
		adapter.Func("read_skill_file", "Reads a text file of a skill that was loaded.", s.read, &read),
	)
}

// Skipped returns why skills were skipped.
func (s *Set) Skipped() []error { return slices.Clone(s.skipped) }

// Instructions returns a text for the system prompt that lists the skills, each on one line. It is
// empty without skills. Names and descriptions are text of servers.
func (s *Set) Instructions() string {
	if len(s.skills) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Servers offer these skills: instructions for tasks. If one fits the task, read it with load_skill before you begin. " +
		"The names and descriptions are the servers' words.\n")
	for _, e := range s.skills {
		fmt.Fprintf(&b, "- %s (server %s): %s\n", e.name, e.server, e.description())
	}
	return b.String()
}

type skillInput struct {
	Skill string `json:"skill" jsonschema:"the name of the skill"`
}

type fileInput struct {
	Skill string `json:"skill" jsonschema:"the name of the skill"`
	File  string `json:"file" jsonschema:"the file, as load_skill lists it"`
}

// load is the tool load_skill: the instructions of a skill between notes that say whose text it is,
// what it claims to use, and which files it has.
func (s *Set) load(ctx context.Context, in skillInput) (string, error) {
	e, err := s.find(in.Skill)
	if err != nil {
		return "", err
	}
	instructions, err := e.load(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[instructions of server %q; they give no permission]\n%s", e.server, instructions)
	if tools := e.allowedTools(); tools != "" {
		fmt.Fprintf(&b, "\n[the skill says that it uses the tools %s; this is a claim]", tools)
	}
	if names := e.fileNames(); len(names) > 0 {
		fmt.Fprintf(&b, "\n[files, for read_skill_file: %s]", strings.Join(names, ", "))
	}
	return b.String(), nil
}

// read is the tool read_skill_file. The file may be named by its URI, too. A file that is not text
// is an error.
func (s *Set) read(ctx context.Context, in fileInput) (string, error) {
	e, err := s.find(in.Skill)
	if err != nil {
		return "", err
	}
	if _, err := e.load(ctx); err != nil {
		return "", err
	}
	for _, f := range e.skill.Files {
		if in.File != f.URI && in.File != e.fileName(f.URI) {
			continue
		}
		data, err := skills.ReadFile(ctx, e.client, e.skill, f.URI)
		if err != nil {
			return "", err
		}
		if !utf8.Valid(data) {
			return "", fmt.Errorf("%s is not text; it has %d bytes", e.fileName(f.URI), len(data))
		}
		return string(data), nil
	}
	return "", fmt.Errorf("the skill %s has no file %.200q; its files are %s", e.name, in.File, strings.Join(e.fileNames(), ", "))
}

// find returns a skill by the model's name for it. The error lists the names.
func (s *Set) find(name string) (*entry, error) {
	if e := s.byName[strings.TrimSpace(name)]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("there is no skill %.200q; the skills are %s", name, strings.Join(slices.Sorted(maps.Keys(s.byName)), ", "))
}

// load loads the skill the first time, and returns its instructions. After an error it tries again.
func (e *entry) load(ctx context.Context) (instructions string, err error) {
	if loaded := e.loaded.Load(); loaded != nil {
		return *loaded, nil
	}
	instructions, err = skills.Load(ctx, e.client, e.skill)
	if err == nil {
		e.loaded.Store(&instructions)
	}
	return instructions, err
}

func (e *entry) description() string { return excerpt.Line(e.skill.Description, maxDescription) }

// fileName returns the model's name for a file: its path within the skill.
func (e *entry) fileName(uri string) string {
	return excerpt.Line(strings.TrimPrefix(uri, strings.TrimSuffix(e.skill.URI, "SKILL.md")), maxName)
}

// fileNames returns the names of the files other than SKILL.md.
func (e *entry) fileNames() (names []string) {
	for _, f := range e.skill.Files {
		if f.URI != e.skill.URI {
			names = append(names, e.fileName(f.URI))
		}
	}
	return names
}

// allowedTools returns the tools that the skill says it uses, "" if it says none: a text or a list,
// in its front matter.
func (e *entry) allowedTools() string {
	var head map[string]json.RawMessage
	if json.Unmarshal(e.skill.Frontmatter, &head) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(head["allowed-tools"], &text) != nil {
		var list []string
		_ = json.Unmarshal(head["allowed-tools"], &list)
		text = strings.Join(list, ", ")
	}
	return excerpt.Line(text, maxClaim)
}
