package convert

import (
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Encoder converts a growing history. It converts each message once, however often the history
// is encoded. Use one encoder per run; it is not safe for concurrent use.
type Encoder struct {
	rules  Rules
	media  func(mimeType string) bool
	system string
	first  *run.Message // of the history that was encoded
	seen   []seen
	out    []llms.MessageContent
	free   []llms.ContentPart
}

// seen is a message that was converted.
type seen struct {
	role  run.Role
	parts []run.Part
	end   int // length of the output up to and including it
}

func (s *seen) is(m *run.Message) bool {
	return s.role == m.Role && len(s.parts) == len(m.Parts) && (len(s.parts) == 0 || &s.parts[0] == &m.Parts[0])
}

// NewEncoder returns an encoder for a provider. media reports whether media of results are sent, by
// MIME type: as tool messages cannot contain them, they follow the results in a human message, if the
// rules allow that.
func NewEncoder(rules Rules, media func(mimeType string) bool) *Encoder {
	return &Encoder{rules: rules, media: media}
}

// Encode converts the messages. The system prompt comes first, in one message with the system
// messages at the beginning of the history, because some providers accept only one.
//
// The caller only appends to a history; to replace a message, to branch or to shorten, it uses a
// copy, as of [slices.Clone], without changes to parts. The caller may append to the result, but
// must not modify its elements. The result shares the data of media with the messages.
func (e *Encoder) Encode(system string, messages []run.Message) []llms.MessageContent {
	if system != e.system {
		e.system = system
		e.keep(0)
	}
	e.keep(e.same(messages))
	if len(messages) > 0 {
		e.first = &messages[0]
	}
	n := len(e.seen)
	if n == 0 && system != "" {
		n = e.begin(messages)
	}
	e.grow(len(messages) - n)
	for n < len(messages) {
		next := n + 1
		if messages[n].Role == run.RoleTool {
			for next < len(messages) && messages[next].Role == run.RoleTool {
				next++
			}
			e.turn(messages[n:next])
		} else {
			e.message(&messages[n])
		}
		e.mark(messages[n:next])
		n = next
	}
	return slices.Clip(e.out)
}

// grow makes room for n messages.
func (e *Encoder) grow(n int) {
	e.seen, e.out = slices.Grow(e.seen, n), slices.Grow(e.out, n)
	e.free = make([]llms.ContentPart, n)
}

// parts returns room for n parts. Messages of one part share an array.
func (e *Encoder) parts(n int) (parts []llms.ContentPart) {
	if n != 1 || len(e.free) == 0 {
		return make([]llms.ContentPart, 0, n)
	}
	parts, e.free = e.free[:0:1], e.free[1:]
	return parts
}

// same returns how many of the messages were converted and are unchanged. The results of a turn
// belong together, even if they come one by one, and so do a system prompt and the system
// messages after it.
func (e *Encoder) same(messages []run.Message) int {
	n := 0
	if k := len(e.seen); 0 < k && k <= len(messages) && e.first == &messages[0] && e.seen[k-1].is(&messages[k-1]) {
		n = k
	}
	for n < min(len(e.seen), len(messages)) && e.seen[n].is(&messages[n]) {
		n++
	}
	goesOn := func(role run.Role) bool {
		return n < len(messages) && messages[n].Role == role || n < len(e.seen) && e.seen[n].role == role
	}
	switch {
	case goesOn(run.RoleTool):
		for n > 0 && messages[n-1].Role == run.RoleTool {
			n--
		}
	case e.system != "" && goesOn(run.RoleSystem) && !slices.ContainsFunc(messages[:n], notSystem):
		n = 0
	}
	return n
}

func notSystem(m run.Message) bool { return m.Role != run.RoleSystem }

// keep forgets all but the first n messages. Earlier results stay valid.
func (e *Encoder) keep(n int) {
	if n == len(e.seen) && n > 0 {
		return
	}
	end := 0
	if n > 0 {
		end = e.seen[n-1].end
	}
	clear(e.seen[n:])
	e.seen, e.out = e.seen[:n], e.out[:end:end]
}

// mark records converted messages.
func (e *Encoder) mark(messages []run.Message) {
	for i := range messages {
		e.seen = append(e.seen, seen{messages[i].Role, messages[i].Parts, len(e.out)})
	}
}

// begin converts the system prompt with the system messages that follow, and returns their
// number.
func (e *Encoder) begin(messages []run.Message) int {
	texts := []string{e.system}
	n := 0
	for n < len(messages) && messages[n].Role == run.RoleSystem {
		texts = appendTexts(texts, messages[n].Parts)
		n++
	}
	e.out = append(e.out, llms.TextParts(llms.ChatMessageTypeSystem, strings.Join(texts, "\n\n")))
	e.mark(messages[:n])
	return n
}

func appendTexts(texts []string, parts []run.Part) []string {
	for _, p := range parts {
		if p.Type == run.PartText || p.Type == run.PartSummary {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// interrupted separates results from a human message, if the run ended before the model read
// the results and the provider allows no human message after them.
const interrupted = "(The conversation was interrupted here.)"

// message converts a message without results.
func (e *Encoder) message(m *run.Message) {
	role := llmsRole(m.Role)
	if n := len(e.out); role == llms.ChatMessageTypeHuman && e.rules.ResultsLast && n > 0 && e.out[n-1].Role == llms.ChatMessageTypeTool {
		e.out = append(e.out, llms.TextParts(llms.ChatMessageTypeAI, interrupted))
	}
	if m.Role == run.RoleSystem && e.rules.SingleParts {
		if text := strings.Join(appendTexts(nil, m.Parts), "\n\n"); text != "" {
			e.out = append(e.out, llms.TextParts(role, text))
		}
		return
	}
	parts := e.parts(len(m.Parts))
	var functions []llms.FunctionCall // of the remaining calls
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type != run.PartCall {
			if part := e.rules.part(p, m.Role); part != nil {
				parts = append(parts, part)
			}
			continue
		}
		if len(functions) == 0 {
			functions = make([]llms.FunctionCall, len(m.Parts)-i)
		}
		parts, functions = append(parts, e.rules.call(p, &functions[0])), functions[1:]
	}
	if m.Role == run.RoleAssistant && e.rules.SingleParts {
		e.single(role, parts)
	} else if len(parts) > 0 { // providers index the first part
		e.out = append(e.out, llms.MessageContent{Role: role, Parts: parts})
	}
}

// single adds a message for each part.
func (e *Encoder) single(role llms.ChatMessageType, parts []llms.ContentPart) {
	for i := range parts {
		e.out = append(e.out, llms.MessageContent{Role: role, Parts: parts[i : i+1 : i+1]})
	}
}

// turn converts the results of a turn, followed by the media that the model accepts.
func (e *Encoder) turn(messages []run.Message) {
	var media []llms.ContentPart
	n := 0
	for i := range messages {
		n += len(messages[i].Parts)
	}
	results := e.parts(n)
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if part := e.rules.part(p, run.RoleTool); part != nil {
				results = append(results, part)
			}
			if !e.rules.ResultsLast {
				media = e.appendMedia(media, p)
			}
		}
	}
	if e.rules.MergedResults && len(results) > 0 {
		e.out = append(e.out, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: results})
	} else {
		e.single(llms.ChatMessageTypeTool, results)
	}
	if len(media) > 0 {
		e.out = append(e.out, llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: media})
	}
}
