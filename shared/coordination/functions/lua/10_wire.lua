-- The group protocol of package coordination, as functions that run in the store. The rules are here and nowhere else: tests
-- and the simulation run these files in an interpreter.
--
-- A call first reads and decides, then writes: a value that this protocol did not write ends the call with nothing
-- changed. The files are concatenated in the order of their names, after a line that gives VERSION, that of the
-- protocol.

local NO_ROUND = -1
local MAX_COUNT = 9007199254740991 -- 2^53-1, the largest count that a Lua number holds exactly
local MAX_DIGITS = 16 -- of a count
-- How far a clock may be ahead of ours: a day, in milliseconds. A pod from beyond would hold its slot against all that come after it.
local MAX_AHEAD = 86400000
local MAX_CODE = 2147483647
local MAX_SIGNAL = 64
local MAX_WORD = 512
local MAX_KIND = 32
-- What is stored may be forged by a member, and every byte of it is read by a server that does one thing at a time.
local MAX_RECORD = 4096
local MAX_LIST = 262144
local HISTORY_LENGTH = 100
local MAX_PER_STAGE = 1048576
local MAX_SLOTS = 1048576
local MAX_STAGES = 1024
local MAX_STEPS = 256
-- Pacing: a round that ends sooner than HEALTHY after its workers began to run is one more in a row. From the fourth on the next
-- round's workers wait: FIRST_DELAY, then twice as long each time, up to what the leader has set.
local HEALTHY, FREE_ENDS, FIRST_DELAY, MOST_ENDS = 60000, 3, 1000, 40
local MISSING_LIMIT = 10000
local MISSING_STEP = 1000

local Forming, Running, Restarting, Recovering = 'Forming', 'Running', 'Restarting', 'Recovering'
local Terminal, Recreating, Closed, Completed = 'Terminal', 'Recreating', 'Closed', 'Completed'
local PHASES = {
  [Forming] = true, [Running] = true, [Restarting] = true, [Recovering] = true,
  [Terminal] = true, [Recreating] = true, [Closed] = true, [Completed] = true,
}

local RELEASES = { held = true, needed = true, gate = true, free = true }

-- fail ends the call with an error reply. Of the codes only HFFENCED keeps what the call has changed: the fence.
local function fail(code, text)
  error({ reply = code .. ' ' .. text, keep = code == 'HFFENCED' }, 0)
end

-- foreign ends the call: the place holds something that this protocol did not write.
local function foreign(key, field, value)
  fail('HFFOREIGN', cjson.encode({ key, field, string.sub(tostring(value), 1, 80) }))
end

-- format writes a whole number without an exponent, whatever its size.
local function format(n)
  return string.format('%d', n)
end

local function isCount(n)
  return n >= 0 and n <= MAX_COUNT
end

-- isMoment is for Unix milliseconds, isBirth for Unix microseconds.
local function isMoment(n, now)
  return n >= 0 and n <= now + MAX_AHEAD
end

local function isBirth(n, now)
  return n >= 0 and n <= (now + MAX_AHEAD) * 1000
end

-- argument reads a number that a caller gave. What is none becomes one that no range holds.
local function argument(s)
  return string.find(s, '^%-?%d+$') and tonumber(s) or -math.huge
end

-- isWord tells whether a string can be a field of a packed record.
local function isWord(s)
  return #s <= MAX_WORD and not string.find(s, '[%z\1-\32\127]')
end

-- isKind tells whether a string can be what a member gives as its reason.
local function isKind(s)
  return #s <= MAX_KIND and string.find(s, '^[%w-]+$') ~= nil
end
