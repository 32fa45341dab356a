package mcpclient_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	pdfSkill = "skill://pdf/SKILL.md"
	pdfForms = "skill://pdf/FORMS.bin"
)

func TestSkills(t *testing.T) {
	playAll(t, bothEras(conversation{name: "skills", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var all []*mcpclient.Skill
		for s, err := range c.Skills(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		if len(all) != 3 || all[0].Name != "pdf" || all[0].Description != "Extract and fill" || all[0].Check() != nil {
			t.Fatalf("got %+v", all)
		}
		for i, want := range []string{1: "neither a list", 2: "dynamic"} {
			if want == "" {
				continue
			}
			_, err := c.LoadSkill(ctx, all[i])
			if e := wantError[*mcpclient.SkillError](t, err); e.File != "" || !strings.Contains(err.Error(), want) {
				t.Errorf("entry %d: got %v, want %q", i, err, want)
			}
		}
		loaded, err := c.LoadSkill(ctx, all[0])
		if err != nil || loaded.Instructions != "Skill body.\n" {
			t.Fatalf("got %+v, %v", loaded, err)
		}
		if forms, err := loaded.Read(ctx, pdfForms); err != nil || string(forms) != "\x00forms" {
			t.Errorf("got %q, %v", forms, err)
		}
		_, err = loaded.Read(ctx, "skill://pdf/../secret")
		wantError[*mcpclient.SkillError](t, err)
		again, err := c.Skill(ctx, pdfSkill)
		if err != nil || again.Fingerprint() != all[0].Fingerprint() || again.Fingerprint() == "" || all[2].Fingerprint() != "" {
			t.Errorf("got %+v, %v", again, err)
		}
		if again.ID("a") == again.ID("b") {
			t.Error("skills of two servers have the same identity")
		}
		if _, err := c.Skill(ctx, "skill://other/SKILL.md"); err == nil || !strings.Contains(err.Error(), "another skill") {
			t.Errorf("another skill: got %v", err)
		}
		_, err = c.Skill(ctx, "skill://none/SKILL.md")
		wantError[*mcp.RPCError](t, err)
	}}, conversation{name: "skills_undeclared", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		_, err := c.Skill(ctx, pdfSkill)
		wantError[*mcpclient.CapabilityError](t, err)
		for _, err := range c.Skills(ctx) {
			wantError[*mcpclient.CapabilityError](t, err)
		}
	}}))
}

func TestSkillsTampered(t *testing.T) {
	playAll(t, bothEras(conversation{name: "skills_tampered", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, want := range []string{
			"its SHA-256 is not that of the entry",
			"bytes, want",
			`differs from the entry in "description"`,
			`has "allowed-tools", which the entry does not`,
			"no front matter",
			"other contents",
		} {
			s, err := c.Skill(ctx, pdfSkill)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.LoadSkill(ctx, s)
			if e := wantError[*mcpclient.SkillError](t, err); e.File != pdfSkill || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if want != "other contents" {
				continue
			}
			loaded, err := c.LoadSkill(ctx, s, mcpclient.WithoutCache())
			if err != nil {
				t.Fatal(err)
			}
			_, err = loaded.Read(ctx, pdfForms)
			wantError[*mcpclient.SkillError](t, err)
		}
	}}))
}

// What a file shows to be out of date is not taken from the cache again, however
// long the server said that it holds.
func TestSkillsTamperedAreForgotten(t *testing.T) {
	const md = "---\nname: pdf\n---\nBody"
	sum := sha256.Sum256([]byte(md))
	opts := modern()
	opts.Protocol.AllowUndeclared = true
	for name, test := range map[string]struct{ frontmatter, text string }{
		"contents":     {`{"name":"pdf"}`, strings.ToUpper(md)},
		"front matter": {`{"name":"pdf","license":"MIT"}`, md},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
				entry := fmt.Sprintf(`{"uri":%q,"frontmatter":%s,"resources":[{"uri":%[1]q,"digest":"sha256:%[3]x","size":%[4]d}]}`, pdfSkill, test.frontmatter, sum, len(md))
				asked := map[string]int{}
				go func() {
					for m := range p.inbox {
						asked[m.Method]++
						p.send(`{"jsonrpc":"2.0","id":%s,"result":{"skill":%s,"skills":[%[2]s],"contents":[{"uri":%q,"text":%q}],"ttlMs":60000}}`, m.ID, entry, pdfSkill, test.text)
					}
				}()
				for range 2 {
					var s *mcpclient.Skill
					for range 2 { // the second from the cache
						var err error
						if s, err = c.Skill(t.Context(), pdfSkill); err != nil {
							t.Fatal(err)
						}
						for _, err := range c.Skills(t.Context()) {
							if err != nil {
								t.Fatal(err)
							}
						}
					}
					_, err := c.LoadSkill(t.Context(), s)
					wantError[*mcpclient.SkillError](t, err)
				}
				if diff := cmp.Diff(map[string]int{"skills/get": 2, "skills/list": 2, "resources/read": 2}, asked); diff != "" {
					t.Errorf("requests, got +, want -:\n%s", diff)
				}
			})
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
		"not itself":      {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "[]", "not among its files"},
		"other name":      {"skill://x/pdf/SKILL.md", `{"name":"other"}`, "[" + md + "]", `its name "other"`},
		"other file":      {"skill://x/pdf/README.md", `{"name":"pdf"}`, "[" + md + "]", "not that of a SKILL.md"},
		"no front matter": {"skill://x/pdf/SKILL.md", `7`, "[" + md + "]", "front matter"},
		"object":          {"skill://x/pdf/SKILL.md", `{"name":"pdf"}`, "{}", "neither a list"},
	} {
		var s mcpclient.Skill
		if err := json.Unmarshal([]byte(`{"uri":"`+tt.uri+`","frontmatter":`+tt.frontmatter+`,"resources":`+tt.resources+`}`), &s); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Check()); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// The front matter of an entry is as bounded as that of the document.
func TestSkillEntryIsBounded(t *testing.T) {
	for size, want := range map[int]bool{1 << 10: true, 128 << 10: false} {
		var s mcpclient.Skill
		entry := fmt.Sprintf(`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"d","x":%q},"resources":[]}`, strings.Repeat("x", size))
		if err := json.Unmarshal([]byte(entry), &s); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(); (err == nil || !strings.Contains(err.Error(), "front matter")) != want {
			t.Errorf("%d bytes: got %v, want that it can be loaded: %t", size, err, want)
		}
	}
}
