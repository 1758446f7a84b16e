// The memory of a module: an allocator, and a collector of garbage that runs between calls.
//
// The compiler uses this file instead of its runtime `minimal`, so what it calls has the names and
// the layout of objects that the compiler knows (AssemblyScript 0.28, std/assembly/rt): the words
// before an object are its cell's size, two of the collector's, the class, and the size.
//
// Why not one of the compiler's: `stub` never frees, so a plugin that makes a text in each call would
// grow without end; `incremental` follows the stack, at a cost in every function; `minimal` does not
// say when to collect; and the allocator of both doubles the memory when it is full,
// which after a region of 100 MB is too much.

/** Bytes before an object, and before a piece without a class. */
// @ts-ignore: decorator
@inline const OBJECT: usize = 20;
// @ts-ignore: decorator
@inline const CELL: usize = 4;

// Words of an object's head, from the cell's beginning.
// @ts-ignore: decorator
@inline const NEXT: usize = 4; // the next of all objects; its two lowest bits are the color
// @ts-ignore: decorator
@inline const GREY: usize = 8; // the next of those that are to be looked into
// @ts-ignore: decorator
@inline const CLASS: usize = 12;
// @ts-ignore: decorator
@inline const SIZE: usize = 16;

// Cells begin 12 bytes after a multiple of 16, so that what is in them is aligned to 16, with and
// without a class. Their sizes are multiples of 16 up to 512, then powers of two.
// @ts-ignore: decorator
@inline const SMALL: usize = 512;
// @ts-ignore: decorator
@inline const LISTS = 64;

// Free cells by size; a cell's second word is the next.
const free: usize = memory.data(LISTS << 2);

// The bytes that were never used, from next to end: they only move up, by memory.grow.
let next: usize = 0;
let end: usize = 0;

// All objects; a color that changes with each collection; those to be looked into.
let objects: usize = 0;
let color: usize = 1;
let grey: usize = 0;

// Bytes of the cells of objects: since the last collection, and what was left by it.
let made: usize = 0;
let left: usize = 0;

/** Returns size bytes that were never used, at `offset` bytes after a multiple of align; 0 if there is no room. */
function bump(size: usize, align: usize, offset: usize): usize {
  if (next == 0) {
    next = __heap_base;
    end = <usize>memory.size() << 16;
  }
  const at = (<u64>next - offset + align - 1) / align * align + offset;
  const after = at + size;
  if (after > end) {
    const pages = i32((after - end + 0xffff) >> 16);
    if (after > 0xffff0000 || memory.grow(pages) < 0) return 0;
    end += <usize>pages << 16;
  }
  next = <usize>after;
  return <usize>at;
}

/** Returns the number of the list for cells of at least size bytes. */
// @ts-ignore: decorator
@inline function listOf(size: usize): usize {
  return size <= SMALL ? (size + 15) >> 4 : 33 + 32 - clz<u32>(<u32>size - 1) - 9;
}

/** Returns the size of cells in a list. */
// @ts-ignore: decorator
@inline function sizeOf(list: usize): usize {
  return list <= SMALL >> 4 ? list << 4 : SMALL << (list - 33);
}

// @ts-ignore: decorator
@global @unsafe
function __alloc(size: usize): usize {
  if (size > 1 << 30) abort("berth: out of memory", "", 0, 0);
  const list = listOf(size + CELL);
  let cell = load<usize>(free + (list << 2));
  if (cell != 0) {
    store<usize>(free + (list << 2), load<usize>(cell, NEXT));
  } else {
    cell = bump(sizeOf(list), 16, 12);
    if (cell == 0) abort("berth: out of memory", "", 0, 0);
    store<usize>(cell, sizeOf(list));
  }
  return cell + CELL;
}

// @ts-ignore: decorator
@global @unsafe
function __free(at: usize): void {
  if (at < __heap_base) return;
  const cell = at - CELL, list = listOf(load<usize>(cell));
  store<usize>(cell, load<usize>(free + (list << 2)), NEXT);
  store<usize>(free + (list << 2), cell);
}

// @ts-ignore: decorator
@global @unsafe
function __realloc(at: usize, size: usize): usize {
  const room = load<usize>(at - CELL) - CELL;
  if (size <= room) return at;
  const to = __alloc(size);
  memory.copy(to, at, room);
  __free(at);
  return to;
}

// @ts-ignore: decorator
@global @unsafe
function __new(size: usize, id: u32): usize {
  const cell = __alloc(OBJECT - CELL + size) - CELL;
  store<usize>(cell, objects, NEXT); // of no color yet
  store<u32>(cell, id, CLASS);
  store<u32>(cell, <u32>size, SIZE);
  objects = cell;
  made += load<usize>(cell);
  return cell + OBJECT;
}

// @ts-ignore: decorator
@global @unsafe
function __renew(at: usize, size: usize): usize {
  const cell = at - OBJECT;
  if (at >= __heap_base && size + OBJECT <= load<usize>(cell)) {
    store<u32>(cell, <u32>size, SIZE);
    return at;
  }
  const to = __new(size, load<u32>(cell, CLASS));
  memory.copy(to, at, min(size, <usize>load<u32>(cell, SIZE)));
  return to;
}

// @ts-ignore: decorator
@global @unsafe
function __link(_parent: usize, _child: usize, _many: bool): void {}

// @ts-ignore: decorator
@global @unsafe
function __visit(at: usize, _cookie: u32): void {
  if (at == 0) return;
  const cell = at - OBJECT, word = load<usize>(cell, NEXT);
  if ((word & 3) == color) return;
  store<usize>(cell, (word & ~3) | color, NEXT);
  store<usize>(cell, grey, GREY);
  grey = cell;
}

/** Frees what no global variable leads to. Nothing may be on the stack, so it is for the beginning of a call. */
// @ts-ignore: decorator
@global @unsafe
function __collect(): void {
  color = 3 - color;
  __visit_globals(0);
  while (grey != 0) {
    const cell = grey;
    grey = load<usize>(cell, GREY);
    __visit_members(cell + OBJECT, 0);
  }
  let cell = objects;
  objects = 0;
  left = 0;
  while (cell != 0) {
    const word = load<usize>(cell, NEXT), then = word & ~3;
    if ((word & 3) == color) {
      store<usize>(cell, objects | color, NEXT);
      objects = cell;
      left += load<usize>(cell);
    } else {
      __free(cell + CELL);
    }
    cell = then;
  }
  made = 0;
}

/** Collects if what was made since the last time is as much as what was left by it, and worth the work. */
// @ts-ignore: decorator
@global @unsafe
function __berth_collect(): void {
  if (made > max<usize>(left, 1 << 18)) __collect();
}

/** berth_alloc: a region is never freed (ABI-2.4). */
// @ts-ignore: decorator
@global @unsafe
function __berth_region(size: usize, align: usize): usize {
  return bump(size, max<usize>(align, 1), 0);
}
