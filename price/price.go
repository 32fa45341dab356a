// Package price says what models cost. Package agent counts the cost of runs by it, and package sampling the cost of what
// servers borrow. See docs/agent.md.
package price

import "errors"

// Table lists the prices of models. There are no built-in prices: they change, and hosts differ.
type Table struct {
	Date   string  `json:"date"` // the day when they were looked up, such as "2026-11-22"; required if there are Models
	Models []Price `json:"models"`
}

// Price is what a million tokens of a model cost, in millionths of a currency's unit:
//
//	{Model: "gpt-5-mini*", Currency: "USD", Input: 250_000, Cached: 25_000, Output: 2_000_000}
type Price struct {
	// Model is the name of the model at its host, in which * stands for any text. The
	// first price of a table counts whose name fits.
	Model    string `json:"model"`
	Currency string `json:"currency"` // such as "USD"

	Input      int64 `json:"input"`
	Cached     int64 `json:"cached,omitempty"`      // input that is read from a cache; 0: as Input
	CacheWrite int64 `json:"cache_write,omitempty"` // input that is written to a cache; 0: as Input
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"` // 0: as Output
}

// ErrUnpriced means that a limit of cost cannot hold: the model is not named, has no price in the table, or has one in a
// currency that is not limited. The error that wraps it says which.
var ErrUnpriced = errors.New("the cost is limited")
