// Package world provides the servers of a trial, which live in this process, and a ledger of the calls to them.
//
//	files   a directory: read_file, write_file, edit_file, list_directory, move_file, delete_file, search_files
//	people  questions: ask_name, ask_order, visit_page, ask_model
//	bank    accounts: balance, list_accounts, transfer, open_account, close_account
//	many    look-ups by subject, as many as the suite wants
//	stub    the tools of its seed, which do nothing: description, inputSchema and result by name
//
// The servers are made with the official Go SDK. Their state is in files below the trial's
// directory, and the ledger of [World] has each call that reached them.
package world
