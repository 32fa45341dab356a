package skills_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/mcptest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

const pdfSkill, pdfForms = "skill://pdf/SKILL.md", "skill://pdf/FORMS.bin"

// play plays a transcript of each era over a shared connection and over HTTP.
func play(t *testing.T, name string, do func(t *testing.T, ctx context.Context, c *mcpclient.Client)) {
	for era, revision := range map[string]string{"legacy": mcp.Revision20251125, "modern": mcp.Revision20260728} {
		for _, way := range []string{"pipe", "http"} {
			t.Run(name+era+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					script := mcptest.Read(t, "testdata/"+name+era+".txtar")
					var transport mcpclient.Transport = script
					if way == "http" {
						server := memhttp.New(script)
						t.Cleanup(server.Close)
						transport = &mcpclient.HTTP{URL: server.URL() + "/mcp", Client: server.Client()}
					}
					do(t, t.Context(), connect(t, transport, revision))
					synctest.Wait()
				})
			})
		}
	}
}

func connect(t *testing.T, transport mcpclient.Transport, revision string) *mcpclient.Client {
	t.Helper()
	c := check.Value(mcpclient.Connect(t.Context(), transport, &mcpclient.Options{
		ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
		Protocol:   mcpclient.Protocol{Revision: revision},
	}))(t)
	t.Cleanup(func() { check.NoError(t, c.Close()) })
	return c
}

// serve connects to a server with one result for everything, and counts its requests.
func serve(t *testing.T, result string) (c *mcpclient.Client, asked map[string]int) {
	transport, server := mcpclient.Pipe()
	asked = map[string]int{}
	go testenv.Serve(server, func(m *testenv.Message) string {
		if asked[m.Method]++; m.Method == "server/discover" {
			return `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}}`
		}
		return `"result":` + result
	})
	return connect(t, transport, mcp.Revision20260728), asked
}

func wantError[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	check.Require(t, ok, "got error %v (%T), want a %T", err, err, e)
	return e
}

func TestSkills(t *testing.T) {
	play(t, "", func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var all []*skills.Skill
		for s, err := range skills.List(ctx, c) {
			check.Must(t, err)
			all = append(all, s)
		}
		check.Require(t, len(all) == 3 && all[0].Name == "pdf" && all[0].Description == "Extract and fill" && all[0].Check() == nil,
			"got %+v", all)
		for i, want := range map[int]string{1: "neither a list", 2: "dynamic"} {
			check.Text(t, check.Err(skills.Load(ctx, c, all[i])), want)
		}
		check.Equal(t, "instructions", check.Value(skills.Load(ctx, c, all[0]))(t), "Skill body.\n")
		check.Equal(t, pdfForms, string(check.Value(skills.ReadFile(ctx, c, all[0], pdfForms))(t)), "\x00forms")
		check.Text(t, check.Err(skills.ReadFile(ctx, c, all[0], "skill://pdf/../secret")), "not among the files")
		check.Text(t, check.Err(skills.ReadFile(ctx, c, all[2], pdfForms)), "dynamic")
		check.Same(t, "files", check.Value(skills.Get(ctx, c, pdfSkill))(t).Files, all[0].Files)
		check.Text(t, check.Err(skills.Get(ctx, c, "skill://other/SKILL.md")), "another skill", "another skill")
		wantError[*mcp.RPCError](t, check.Err(skills.Get(ctx, c, "skill://none/SKILL.md")))
	})
	play(t, "undeclared_", func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.Is(t, check.Err(skills.Get(ctx, c, pdfSkill)), mcpclient.ErrUndeclared)
		for _, err := range skills.List(ctx, c) {
			check.Is(t, err, mcpclient.ErrUndeclared)
		}
	})
}

func TestSkillsTampered(t *testing.T) {
	play(t, "tampered_", func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, want := range []string{
			"SHA-256 differs from the entry", "bytes, want", `differs from the entry in "description"`,
			`has "allowed-tools", which the entry does not`, "no front matter", "other contents",
		} {
			s := check.Value(skills.Get(ctx, c, pdfSkill))(t)
			check.Text(t, check.Err(skills.Load(ctx, c, s)), want)
			if want == "other contents" {
				check.Must(t, check.Err(skills.Load(ctx, c, s, mcpclient.WithoutCache())))
				check.Text(t, check.Err(skills.ReadFile(ctx, c, s, pdfForms)), "is not used")
			}
		}
	})
}

// What a file shows to be out of date is not taken from the cache again, however long the server said that it holds.
func TestSkillsTamperedAreForgotten(t *testing.T) {
	const md = "---\nname: pdf\n---\nBody"
	sum := sha256.Sum256([]byte(md))
	for name, test := range map[string]struct{ frontmatter, text string }{
		"contents":     {`{"name":"pdf"}`, strings.ToUpper(md)},
		"front matter": {`{"name":"pdf","license":"MIT"}`, md},
	} {
		t.Run(name, func(t *testing.T) {
			entry := fmt.Sprintf(`{"uri":%q,"frontmatter":%s,"resources":[{"uri":%[1]q,"digest":"sha256:%[3]x","size":%[4]d}]}`, pdfSkill, test.frontmatter, sum, len(md))
			c, asked := serve(t, fmt.Sprintf(`{"skill":%s,"skills":[%[1]s],"contents":[{"uri":%q,"text":%q}],"ttlMs":60000}`, entry, pdfSkill, test.text))
			for range 2 {
				for range 2 { // the second from the cache
					check.Must(t, check.Err(skills.Get(t.Context(), c, pdfSkill)))
					for _, err := range skills.List(t.Context(), c) {
						check.Must(t, err)
					}
				}
				s := check.Value(skills.Get(t.Context(), c, pdfSkill))(t)
				check.Text(t, check.Err(skills.Load(t.Context(), c, s)), "is not used")
			}
			delete(asked, "server/discover")
			check.Same(t, "requests", asked, map[string]int{"skills/get": 2, "skills/list": 2, "resources/read": 2})
		})
	}
}

func TestSkillCheck(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	md := `{"uri":"skill://x/pdf/SKILL.md","digest":"` + digest + `","size":1}`
	many := strings.Builder{}
	for i := range 512 {
		fmt.Fprintf(&many, `,{"uri":"skill://x/%d","digest":%q,"size":0}`, i, digest)
	}
	for name, tt := range map[string]struct{ uri, frontmatter, resources, want string }{
		"fine":            {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + md + "]", "<nil>"},
		"most files":      {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + md + strings.Replace(many.String(), `,{"uri":"skill://x/0","digest":"`+digest+`","size":0}`, "", 1) + "]", "<nil>"},
		"too many files":  {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + md + many.String() + "]", "513 files"},
		"largest":         {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + strings.Replace(md, `"size":1`, `"size":16777216`, 1) + "]", "<nil>"},
		"too large":       {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + md + `,{"uri":"skill://x/b","digest":"` + digest + `","size":16777216}]`, "16777216 bytes"},
		"no size":         {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, `[{"uri":"skill://x/pdf/SKILL.md","digest":"` + digest + `"}]`, "no size"},
		"negative size":   {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + strings.Replace(md, `"size":1`, `"size":-1`, 1) + "]", "no size"},
		"other digest":    {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + strings.Replace(md, "sha256", "md5", 1) + "]", "not a sha256"},
		"twice":           {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[" + md + "," + md + "]", "listed twice"},
		"not itself":      {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[]", "not among the files"},
		"other name":      {"skill://x/pdf/SKILL.md", `{"name":"other"}`, "[" + md + "]", `the name "other"`},
		"other file":      {"skill://x/pdf/README.md", `{"name":"pdf"}`, "[" + md + "]", "does not lead to a SKILL.md"},
		"no front matter": {"skill://x/pdf/SKILL.md", `7`, "[" + md + "]", "front matter"},
		"uri":             {`x","uri":7,"x":"`, `{"name":"pdf"}`, "[" + md + "]", "not an object with a uri"},
		"object":          {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "{}", "neither a list"},
	} {
		var s skills.Entry
		check.Must(t, json.Unmarshal([]byte(`{"uri":"`+tt.uri+`","frontmatter":`+tt.frontmatter+`,"resources":`+tt.resources+`}`), &s))
		check.Contains(t, name, fmt.Sprint(s.Check()), tt.want)
	}
}

// Errors quote at most 1 KiB of a URI.
func TestErrorsOfLongURIs(t *testing.T) {
	s := &skills.Skill{URI: "skill://" + strings.Repeat("x", 1<<20)}
	if err := check.Err(skills.Load(t.Context(), nil, s)); err == nil || len(err.Error()) > 4<<10 {
		t.Errorf("got an error of %d bytes, want one of at most 4 KiB", len(fmt.Sprint(err)))
	}
}

// What the server answers is decoded within bounds, and a list of no skills is not a skill.
func TestSkillsOfHostileServers(t *testing.T) {
	c, _ := serve(t, `{"skill":{"uri":"u","resources":[`+strings.Repeat("0,", 200_000)+`0]}}`)
	check.Is(t, check.Err(skills.Get(t.Context(), c, "u")), mcp.ErrInvalidResult)
	check.Text(t, check.Err(skills.Load(t.Context(), c, nil)), "no skill (nil)")
	check.Text(t, check.Err(skills.ReadFile(t.Context(), c, nil, pdfForms)), "no skill (nil)")
}

// The front matter of an entry is bounded like the front matter of a document.
func TestSkillEntryIsBounded(t *testing.T) {
	for size, want := range map[int]bool{1 << 10: true, 128 << 10: false} {
		var s skills.Entry
		entry := fmt.Sprintf(`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"d","x":%q},"resources":[]}`, strings.Repeat("x", size))
		check.Must(t, json.Unmarshal([]byte(entry), &s))
		check.Equal(t, fmt.Sprint("bytes refused: ", size), strings.Contains(fmt.Sprint(s.Check()), "front matter"), !want)
	}
}
