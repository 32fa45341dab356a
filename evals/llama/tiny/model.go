// Package tiny makes a model of two megabytes, which servers of the llama.cpp family serve like any other.
//
// The model is a table: the next token depends on the last one only. Tokens are single bytes and
// some phrases. The template ends each prompt with one of a few marks, and each is a token from which a chain
// of phrases begins:
//
//	no tools          a greeting, or endless text after "for ever"
//	tools             calls of weather and clock; after "think" with a thought before
//	a tool's result   an answer; after "think" a thought and more calls
//
// If a grammar forbids a phrase, the next best token is one that ends what has begun: a string, an object, the
// reply. So every grammar gets a short text that fits.
package tiny

import (
	"math"
	"slices"
	"strings"
)

// Window is the size of the context window in tokens. Almost every byte of a prompt is a token.
const Window = 8192

// What the model says.
const (
	Greeting = "Hello from a tiny model."
	Answer   = "It rains in Oslo."
	Thought  = "I need the weather."
	EndWords = "on and " // repeated without end after a prompt that ends with [Forever]; Ollama ends a reply that repeats one token
)

// What the last words of a prompt or of a tool's result ask for.
const (
	Forever = "for ever" // a reply without end, if there are no tools
	Think   = "think"    // a thought, then calls
)

// Weather and Clock are the tools that the model calls by itself, with Arguments.
const (
	Weather   = "weather"
	Clock     = "clock"
	Arguments = `{"city": "Oslo"}`
)

// Marks of the template.
const (
	markEnd       = "<|end|>"
	markUser      = "<|user|>"
	markAssistant = "<|assistant|>"
	markSystem    = "<|system|>"
	markTool      = "<|tool|>"
	markOffered   = "<|offered|>"  // ends a user's message, if there are tools
	markReturned  = "<|returned|>" // ends a tool's result
	openThought   = "<think>"
	closeThought  = "</think>"
	openCall      = "<tool_call>"
	closeCall     = "\n</tool_call>"
)

// Types of tokens in a file.
const (
	normalToken  = 1
	controlToken = 3
	userToken    = 4 // found in a text before all others, the longest first
)

// table is the model: its tokens, and what follows each of them.
type table struct {
	texts []string
	types []int32
	ids   map[string]int
	next  map[int][]int // the phrases that may follow a token, the likeliest first
}

// Model returns the model as a GGUF file, the same at each call.
func Model() []byte {
	t := newTable()
	f := &file{}
	t.describe(f)
	t.weigh(f)
	return f.bytes()
}

func newTable() *table {
	t := &table{ids: map[string]int{}, next: map[int][]int{}}
	for b := range 256 {
		t.token(string([]byte{byte(b)}), normalToken)
	}
	for _, mark := range []string{markEnd, markUser, markAssistant, markSystem, markTool} {
		t.token(mark, controlToken)
	}
	const begin = markEnd + markAssistant
	for _, mark := range []string{markOffered, markReturned, openThought, closeThought, openCall} {
		t.token(mark, userToken)
	}
	call := func(name string) string { return "{\"name\": \"" + name + "\", \"arguments\": " + Arguments + "}" }
	second := closeCall + "\n" + openCall + "\n" + call(Clock)
	t.chain(begin, "Hello", " from", " a", " tiny", " model.", markEnd)
	t.chain(Forever+begin, "on ", "and ", "on ")
	t.chain(markOffered+begin, openCall, "\n", call(Weather), second, closeCall, markEnd) // the line break is a token of its own: a grammar may begin after it
	t.chain(call(Weather), closeCall)
	t.chain("}", closeCall)
	t.chain(Think+markOffered+begin, openThought, "I need", " the weather.", closeThought, openCall)
	t.chain(markReturned+begin, "It rains", " in", " Oslo.", markEnd)
	t.chain(Think+markReturned+begin, openThought)
	return t
}

// token returns the number of a token, and adds it if it is new.
func (t *table) token(text string, kind int32) int {
	id, ok := t.ids[text]
	if !ok {
		id = len(t.texts)
		t.ids[text] = id
		t.texts, t.types = append(t.texts, text), append(t.types, kind)
	}
	return id
}

// chain makes each phrase follow the one before it. The first becomes a token that is found in prompts, if it is new.
func (t *table) chain(first string, rest ...string) {
	last := t.token(first, userToken)
	for _, text := range rest {
		next := t.token(text, normalToken)
		if !slices.Contains(t.next[last], next) {
			t.next[last] = append(t.next[last], next)
		}
		last = next
	}
}

// score says how likely the next token is after a token: the logit, before it is sharpened.
func (t *table) score(token, next int) float32 {
	if i := slices.Index(t.next[token], next); i >= 0 {
		return float32(20 - i)
	}
	text := t.texts[next]
	switch {
	case text == markEnd:
		return 12
	case text == openCall && token >= 256 && token != next: // between phrases, not inside a string
		return 11
	case next >= 256:
		return -20
	case t.texts[token] == "{" && text == "}" || t.texts[token] == "[" && text == "]":
		return 11
	}
	return scoreByte(text[0])
}

// scoreByte prefers what ends a value, then what begins a short one.
func scoreByte(b byte) float32 {
	const first = `"}],1{0a`
	if i := strings.IndexByte(first, b); i >= 0 {
		return float32(10 - i)
	}
	switch {
	case b > ' ' && b < 0x7f && b != '\\':
		return 2 - float32(b)/256
	case b == ' ':
		return 1
	case b == '\n':
		return 0
	}
	return -10
}

// describe writes the metadata of the file.
func (t *table) describe(f *file) {
	texts := make([]string, len(t.texts))
	for i, text := range t.texts {
		texts[i] = text
		if t.types[i] == normalToken {
			texts[i] = visible(text)
		}
	}
	for _, v := range []struct {
		name  string
		value any
	}{
		{"general.architecture", "llama"},
		{"general.name", "tiny"},
		{"general.file_type", uint32(0)}, // floats of 32 bits
		{"llama.vocab_size", uint32(len(texts))},
		{"llama.context_length", uint32(Window)},
		{"llama.embedding_length", uint32(t.width())},
		{"llama.block_count", uint32(1)},
		{"llama.feed_forward_length", uint32(inner)},
		{"llama.attention.head_count", uint32(t.width() / head)},
		{"llama.attention.head_count_kv", uint32(1)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(head)},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "gpt-2"},
		{"tokenizer.ggml.tokens", texts},
		{"tokenizer.ggml.token_type", t.types},
		{"tokenizer.ggml.merges", []string{visible("\x00") + " " + visible("\x00")}}, // servers want one; there is no such token
		{"tokenizer.ggml.bos_token_id", uint32(t.ids[markEnd])},
		{"tokenizer.ggml.eos_token_id", uint32(t.ids[markEnd])},
		{"tokenizer.ggml.add_bos_token", false},
		{"tokenizer.chat_template", template},
	} {
		f.set(v.name, v.value)
	}
}

// visible writes a text as vocabularies of GPT-2's kind do: each byte as a printable character.
func visible(text string) string {
	printable := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae }
	var out []rune
	for _, b := range []byte(text) {
		r := rune(b)
		if !printable(int(b)) {
			r = 256
			for before := range int(b) {
				if !printable(before) {
					r++
				}
			}
		}
		out = append(out, r)
	}
	return string(out)
}

// Sizes of the model.
const (
	head  = 64 // size of an attention head
	inner = 32 // size of the layer within the block
)

// width returns the length of an embedding: one place for each token, rounded up to whole heads.
func (t *table) width() int { return (len(t.texts) + head - 1) / head * head }

// weigh writes the weights. The block adds nothing: its output is the embedding of the last token, which the output
// layer multiplies with the table.
func (t *table) weigh(f *file) {
	width := t.width()
	zero := func(int, int) float32 { return 0 }
	one := func(int, int) float32 { return 1 }
	f.add("token_embd.weight", width, len(t.texts), func(token, place int) float32 {
		if token == place {
			return 1
		}
		return 0
	})
	f.add("blk.0.attn_norm.weight", width, 1, one)
	f.add("blk.0.attn_q.weight", width, width, zero)
	f.add("blk.0.attn_k.weight", width, head, zero)
	f.add("blk.0.attn_v.weight", width, head, zero)
	f.add("blk.0.attn_output.weight", width, width, zero)
	f.add("blk.0.ffn_norm.weight", width, 1, one)
	f.add("blk.0.ffn_gate.weight", width, inner, zero)
	f.add("blk.0.ffn_up.weight", width, inner, zero)
	f.add("blk.0.ffn_down.weight", inner, width, zero)
	f.add("output_norm.weight", width, 1, one)
	// The norm turns a 1 into the root of the width. With this sharpness a token whose score is higher by 1 is certain.
	const sharpness = 20
	scale := sharpness / float32(math.Sqrt(float64(width)))
	f.add("output.weight", width, len(t.texts), func(next, token int) float32 {
		if token >= len(t.texts) {
			return 0
		}
		return scale * t.score(token, next)
	})
}
