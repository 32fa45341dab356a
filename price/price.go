// Package price defines tables of the prices of models. Package agent uses them for the cost of runs, and package
// sampling for the cost of the requests of servers. The guide is docs/agent.md of the repository.
package price

import "errors"

// Table lists the prices of models. There are no built-in prices, because they change and providers differ.
// agent.New and sampling.New refuse a table that has Models but no Date.
type Table struct {
	Date   string  `json:"date"` // the day of the prices, such as "2026-11-22"; required if there are Models
	Models []Price `json:"models"`
}

// Price is the price of a million tokens of a model, in millionths of the currency's unit. A price must not be
// negative. Free cached input or reasoning cannot be written, because 0 means the price of other tokens:
//
//	{Model: "gpt-5-mini*", Currency: "USD", Input: 250_000, Cached: 25_000, Output: 2_000_000}
type Price struct {
	// Model is the provider's name for the model, in which * stands for any text. Case matters. The
	// first price of a table with a matching name counts.
	Model    string `json:"model"`
	Currency string `json:"currency"` // a code of three letters, such as "USD"

	Input      int64 `json:"input"`
	Cached     int64 `json:"cached,omitempty"`      // input that is read from a cache; 0: as Input
	CacheWrite int64 `json:"cache_write,omitempty"` // input that is written to a cache; 0: as Input
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"` // 0: as Output
}

// ErrUnpriced means that a limit of cost cannot be enforced: the model has no name, no price in the
// table, or a price in a currency without a limit. The error that wraps it says which.
var ErrUnpriced = errors.New("the cost cannot be limited")
