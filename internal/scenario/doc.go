// Package scenario is the language of the files in which the tests of queue,
// cycle, scheduler and others keep their cases: commands, and what they print.
// Only tests import it.
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
// A name or a value may have parts in double quotes, in which spaces count as
// letters. The command "new" begins again with a new world. Output is what the
// commands since the output before print; a block that prints has one.
// `go test -rewrite` writes it anew.
//
// # Signatures
//
// A command is declared by its signature, against which each line is checked
// before the command runs:
//
//	Signature = word { " " Parameter } .
//	Parameter = Name | "[" Name "]" | Name "…" | Option | "[" Option "]" .
//	Name      = TYPE | choice { "|" choice } .
//	Option    = key "=" ( TYPE | choice { "|" choice } ) .
//	TYPE      = "INT" | "DURATION" | text without lower-case letters .
//
// Brackets stand round what may be missing, "…" behind what comes once or more
// often. INT is a decimal integer, DURATION one of Go ("1m30s"), any other TYPE is
// text, and a choice is the text itself. A key may be a pattern of [path.Match],
// like "*/*" for all that have a slash.
//
//	advance DURATION
//	hint POD EVENT leave|queue|now
//	pod NAME… [priority=INT] [on=NODE]
package scenario
