package wasm

type auxPool struct{}

func (a *auxPool) init() {}
