package record

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	// frameSize is the size at which events are written, before compression.
	frameSize = 256 << 10
	// maxFrame bounds a frame before and after compression: the largest event is a module, or names those of all tenants.
	maxFrame = 128 << 20
	// maxRatio is more than flate ever packs.
	maxRatio = 1100
	// headSize is the size of a frame's head, and oldHeadSize what it was in version 4: without number and hash.
	headSize, oldHeadSize = 16 + linkSize, 12
	// linkSize is how much of the SHA-256 of a frame the next one has.
	linkSize = 16
)

// chain is where a frame belongs: its number, from 1, and the hash of the one before, or of the first line.
type chain struct {
	number uint32
	link   [linkSize]byte
}

// newChain returns the place of the first frame after a first line.
func newChain(header string) chain {
	sum := sha256.Sum256([]byte(header))
	return chain{1, [linkSize]byte(sum[:])}
}

// next moves on to the place after a frame.
func (c *chain) next(head, packed []byte) {
	h := sha256.New()
	h.Write(head)
	h.Write(packed)
	c.number++
	c.link = [linkSize]byte(h.Sum(nil))
}

// head returns the head of the frame at this place.
func (c *chain) head(packed, events []byte) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(packed)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(events)))
	head = binary.LittleEndian.AppendUint32(head, checksum(events))
	head = binary.LittleEndian.AppendUint32(head, c.number)
	return append(head, c.link[:]...)
}

// check refuses a frame that belongs elsewhere.
func (c *chain) check(head []byte) error {
	switch number := binary.LittleEndian.Uint32(head[oldHeadSize:]); {
	case number != c.number:
		return fmt.Errorf("frame %d comes where frame %d belongs: frames were lost, doubled or exchanged", number, c.number)
	case !bytes.Equal(head[headSize-linkSize:headSize], c.link[:]):
		return fmt.Errorf("frame %d does not follow what is before it: one of them is of another recording, or was changed", number)
	}
	return nil
}

func checksum(events []byte) uint32 { return crc32.Checksum(events, crc32.MakeTable(crc32.Castagnoli)) }

// nextFrame reads a frame.
func (r *Reader) nextFrame() ([]byte, error) {
	head := make([]byte, headSize)
	unchained := r.version < 5
	if unchained {
		head = head[:oldHeadSize]
	}
	if _, err := io.ReadFull(r.in, head); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrCut
	} else if err != nil {
		return nil, err
	}
	if !unchained {
		if err := r.chain.check(head); err != nil {
			return nil, err
		}
	}
	packed, size, sum := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	if packed > maxFrame || size > maxFrame || size == 0 {
		return nil, errors.New("the next frame has an impossible size")
	}
	// The buffer grows with what is read, so that a wrong size costs nothing.
	var data bytes.Buffer
	_, short := io.CopyN(&data, r.in, int64(packed))
	if short != nil && !errors.Is(short, io.EOF) {
		return nil, short
	}
	r.chain.next(head, data.Bytes())
	r.decoder.Read(data.Len())
	wrong, unpacked := errors.New("the next frame has a wrong size"), flate.NewReader(&data)
	if short != nil {
		_, err := io.Copy(io.Discard, io.LimitReader(unpacked, int64(size)+1))
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF): // what is there is the beginning of a frame
			return nil, ErrCut
		case err != nil:
			return nil, fmt.Errorf("the next frame cannot be unpacked: %w", err)
		}
		return nil, wrong
	}
	if int64(size) > maxRatio*int64(data.Len()) {
		return nil, wrong
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(unpacked, frame); err != nil {
		return nil, fmt.Errorf("the next frame cannot be unpacked: %w", err)
	}
	switch n, err := unpacked.Read(make([]byte, 1)); {
	case n > 0 || !errors.Is(err, io.EOF) || data.Len() > 0: // flate takes no byte more than it needs
		return nil, wrong
	case checksum(frame) != sum:
		return nil, errors.New("the next frame has a wrong checksum")
	}
	return frame, nil
}
