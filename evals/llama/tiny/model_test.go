package tiny

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// reader reads a GGUF file.
type reader struct {
	t    *testing.T
	data []byte
	at   int
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.data)-r.at {
		r.t.Fatalf("got %d bytes behind %d, want %d", len(r.data)-r.at, r.at, n)
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) u32() uint32    { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64    { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) string() string { return string(r.take(int(r.u64()))) }

func (r *reader) value(k kind) any {
	switch k {
	case kindUint32, kindInt32:
		return r.u32()
	case kindFloat32:
		return math.Float32frombits(r.u32())
	case kindBool:
		return r.take(1)[0] == 1
	case kindString:
		return r.string()
	case kindArray:
		of, all := kind(r.u32()), []any(nil)
		for range r.u64() {
			all = append(all, r.value(of))
		}
		return all
	}
	r.t.Fatalf("unknown kind %d", k)
	return nil
}

// read returns the metadata of a file and its tensors.
func read(t *testing.T, data []byte) (map[string]any, map[string][]float32) {
	r := &reader{t: t, data: data}
	if magic, version := string(r.take(4)), r.u32(); magic != "GGUF" || version != 3 {
		t.Fatalf("got %q %d, want GGUF 3", magic, version)
	}
	tensors, values := r.u64(), r.u64()
	head := map[string]any{}
	for range values {
		name := r.string()
		head[name] = r.value(kind(r.u32()))
	}
	type place struct{ size, offset int }
	places := map[string]place{}
	for range tensors {
		name, size := r.string(), 1
		for range r.u32() {
			size *= int(r.u64())
		}
		if k := r.u32(); k != 0 {
			t.Errorf("%s: got the type %d, want floats of 32 bits", name, k)
		}
		places[name] = place{size, int(r.u64())}
	}
	begin := int(aligned(uint64(r.at)))
	out, end := map[string][]float32{}, begin
	for name, p := range places {
		if p.offset%alignment != 0 {
			t.Errorf("%s begins at %d, which is not aligned", name, p.offset)
		}
		r.at = begin + p.offset
		for range p.size {
			out[name] = append(out[name], math.Float32frombits(r.u32()))
		}
		end = max(end, int(aligned(uint64(r.at))))
	}
	if end != len(data) {
		t.Errorf("got %d bytes, want %d", len(data), end)
	}
	return head, out
}

// The file is complete, small, and the same each time, and its weights are those of the table.
func TestModel(t *testing.T) {
	data := Model()
	if !bytes.Equal(data, Model()) {
		t.Error("two files differ")
	}
	if len(data) > 4<<20 {
		t.Errorf("got %d bytes, want less than 4 MiB", len(data))
	}
	head, tensors := read(t, data)
	width, vocabulary := int(head["llama.embedding_length"].(uint32)), head["tokenizer.ggml.tokens"].([]any)
	if n := int(head["llama.vocab_size"].(uint32)); n != len(vocabulary) || n > width || n != len(head["tokenizer.ggml.token_type"].([]any)) {
		t.Errorf("got %d tokens, %d texts and a width of %d", n, len(vocabulary), width)
	}
	if heads := int(head["llama.attention.head_count"].(uint32)); heads*int(head["llama.rope.dimension_count"].(uint32)) != width {
		t.Errorf("%d heads do not fill a width of %d", heads, width)
	}
	seen := map[any]bool{}
	for _, text := range vocabulary {
		if seen[text] || text == "" {
			t.Errorf("the text %q is empty or used twice", text)
		}
		seen[text] = true
	}
	for name, rows := range map[string]int{
		"token_embd": len(vocabulary), "output": len(vocabulary), "output_norm": 1, "blk.0.attn_norm": 1, "blk.0.ffn_norm": 1, "blk.0.attn_q": width,
		"blk.0.attn_k": 64, "blk.0.attn_v": 64, "blk.0.attn_output": width, "blk.0.ffn_gate": 32, "blk.0.ffn_up": 32, "blk.0.ffn_down": 32,
	} {
		if got := len(tensors[name+".weight"]); got != rows*width {
			t.Errorf("%s: got %d elements, want %d", name, got, rows*width)
		}
	}
	for i := range vocabulary {
		if tensors["token_embd.weight"][i*width+i] != 1 {
			t.Errorf("token %d is not at its place", i)
		}
	}
}

// reply plays the model: the next token is the likeliest one that is allowed.
func reply(prompt string, allowed func(soFar string) bool) string {
	t := newTable()
	var text string
	for last := t.ids[prompt]; len(text) < 300; {
		best := -1
		for next := range t.texts {
			if (best < 0 || t.score(last, next) > t.score(last, best)) && allowed(text+t.texts[next]) {
				best = next
			}
		}
		if last = best; t.texts[best] == markEnd {
			break
		}
		text += t.texts[best]
	}
	return text
}

func TestReplies(t *testing.T) {
	const begin = markEnd + markAssistant
	all := func(string) bool { return true }
	weather := "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	both := weather + strings.ReplaceAll("\n"+weather, Weather, Clock)
	for _, c := range []struct {
		prompt, want string
		allowed      func(string) bool
	}{
		{begin, Greeting, all},
		{Forever + begin, strings.Repeat(EndWords, 43), all},
		{markOffered + begin, both, all},
		{markOffered + begin, weather, func(s string) bool { return !strings.Contains(s, Clock) }},
		{Think + markOffered + begin, "<think>" + Thought + "</think>" + both, all},
		{markReturned + begin, Answer, all},
		{Think + markReturned + begin, "<think>" + Thought + "</think>" + both, all},
		{begin, `{"a":1,"b":[]}`, func(s string) bool { return strings.HasPrefix(`{"a":1,"b":[]}`+markEnd, s) }},
		{begin, `""`, func(s string) bool {
			return s[0] == '"' && (s == `""`+markEnd || !strings.ContainsAny(s[1:], "\"<") || s == `""`)
		}},
	} {
		if got := reply(c.prompt, c.allowed); got != c.want {
			t.Errorf("%s: got %q, want %q", c.prompt, got, c.want)
		}
	}
	if newTable().texts[0] == visible("\x00") || visible(" \n") != "ĠĊ" {
		t.Errorf("got %q, want the characters of GPT-2", visible(" \n"))
	}
	for _, mark := range []string{markEnd, markUser, markAssistant, markSystem, markTool, markOffered, markReturned, openThought, closeThought, openCall} {
		if !strings.Contains(template, mark) || !strings.Contains(Modelfile("m"), mark) {
			t.Errorf("a template lacks %s", mark)
		}
	}
}
