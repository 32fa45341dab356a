package compact

import "github.com/mcpchain/mcpchain/agent/model"

// SummarizeWith is Summarize with the summaries of a function.
func SummarizeWith(s summarizer, o *Options) Compactor { return summarize(s, o.withDefaults()) }

// ByModel returns the function with which Summarize asks a model.
func ByModel(m model.Model, o *Options) summarizer { return byModel(m, o.withDefaults()) }
