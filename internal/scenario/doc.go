// Package scenario is the language of scenario files, the test cases of queue, cycle, scheduler
// and others: commands and their output. The text form of recordings (package runtime/inbox) has
// the same lines.
//
// # Files
//
//	File    = Block { empty-line Block } .
//	Block   = { Comment | Command } [ "----" newline Output ] .
//	Comment = "#" text newline .
//	Command = word { " " ( Name | Option ) } newline .
//	Option  = key "=" value .
//	Output  = { non-empty-line } .
//
// A name or a value may have parts in double quotes, which are Go strings ("a \"b\"\n"), and raw
// parts in backquotes. An equals sign in quotes does not make an option. The command
// "new" starts a new world. Output is what the commands since the previous output print; a
// block that prints must have one. `go test -rewrite` rewrites it.
//
// # Signatures
//
// A command is declared by its signature. Each line is checked against the signature before the
// command runs:
//
//	Signature = word { " " Parameter } .
//	Parameter = Name | "[" Name "]" | Name "…" | Option | "[" Option "]" .
//	Name      = TYPE | choice { "|" choice } .
//	Option    = key "=" ( TYPE | choice { "|" choice } ) .
//	TYPE      = "INT" | "DURATION" | text without lower-case letters .
//
// Brackets mark optional parameters, "…" marks one or more repetitions. INT is a decimal
// integer, DURATION is a Go duration ("1m30s"), any other TYPE is text, and a choice is the
// text itself. A key may be a pattern of [path.Match], such as "*/*" for all keys with a slash.
//
//	advance DURATION
//	hint POD EVENT leave|queue|now
//	pod NAME… [priority=INT] [on=NODE]
package scenario
