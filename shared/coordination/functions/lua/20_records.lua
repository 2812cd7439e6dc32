-- Packed records: fields in a fixed order, separated by one blank. A type of field has a pattern, a format, and reads
-- the text that matched (nil if it is foreign), unless it is what it says. Records are read with one match and written
-- with one format, because every report of an agent does both.

local function countValue(s)
  local n = tonumber(s)
  return n <= MAX_COUNT and n or nil
end

local function signedValue(s)
  local n = tonumber(s)
  return n >= -MAX_COUNT and n <= MAX_COUNT and n or nil
end

local count = { pattern = '(%d+)', format = '%d', value = countValue }
local signed = { pattern = '(%-?%d+)', format = '%d', value = signedValue } -- a round, -1 is "none", or an exit code
local word = { pattern = '([^%z\1-\32\127]*)', format = '%s' }
local name = { pattern = '([^%z\1-\32\127]+)', format = '%s' }
local flag = { pattern = '([01])', format = '%d', value = function(s) return s == '1' end }

local TOKEN = { { 'created', count }, { 'transitions', count } }
local FAILURE = {
  { 'slot', word }, { 'kind', word }, { 'exitCode', signed }, { 'podName', word }, { 'node', word }, { 'signal', count },
  { 'reason', word }, { 'failedAt', count }, { 'detectedAt', count },
}
local SLOT = { -- isMissing looks at the last five
  { 'pod', word }, { 'podBorn', count }, { 'podName', word }, { 'node', word }, { 'id', word }, { 'born', count }, { 'ran', flag },
  { 'round', signed }, { 'generation', count }, { 'dead', flag }, { 'finished', flag }, { 'barrier', flag },
}

-- with is a schema that has the fields of a failure after its own, and then more.
local function with(before, after)
  local schema = {}
  local parts = { before, FAILURE, after }
  for p = 1, 3 do -- Lua's own functions are not there yet
    for i = 1, #parts[p] do
      schema[#schema + 1] = parts[p][i]
    end
  end
  return schema
end

local RECOVERY = with({ { 'highest', signed }, { 'lowest', signed }, { 'ran', signed }, { 'hurt', flag } }, {})
-- of a record; the rest of it is in TALLY
local CAUSE_AND_TIMES = with({ { 'epoch', count }, { 'round', count } }, { { 'reportedAt', count }, { 'inSyncAt', count } })
local TALLY = {
  { 'lastDownAt', count }, { 'firstUpAt', count }, { 'lastUpAt', count }, { 'lastStartAt', count },
  { 'downs', count }, { 'ups', count }, { 'starts', count }, { 'coalesced', count },
}
local release = { pattern = '(%l+)', format = '%s', value = function(s) return RELEASES[s] and s end }
local STAGE = { { 'prefix', name }, { 'jobs', count }, { 'pods', count }, { 'step', count }, { 'release', release } }
local COUNT = { { 'joined', count }, { 'done', count }, { 'gone', count }, { 'left', flag } }
local STEP = with({ { 'entered', signed }, { 'known', flag }, { 'unassigned', count }, { 'atBarrier', count } }, {})

-- packed makes a record's reader and writer. Blank, where it is given, makes a table in which all fields have their place:
-- one that grows field by field costs more than the reading. This runs while the library is loaded, when Lua's own
-- libraries are not there.
local function packed(schema, blank)
  local n = #schema
  local pattern, template = '^', ''
  local names, values, flags = {}, {}, {}
  for i = 1, n do
    local separator, kind = i == 1 and '' or ' ', schema[i][2]
    pattern, template = pattern .. separator .. kind.pattern, template .. separator .. kind.format
    names[i], values[i] = schema[i][1], kind.value or false
    if kind == flag then
      flags[#flags + 1] = i
    end
  end
  pattern = pattern .. '$'

  local function read(s)
    if #s > MAX_RECORD then
      return nil
    end
    local fields = { string.match(s, pattern) }
    if not fields[1] then
      return nil
    end
    local record = blank and blank() or {}
    for i = 1, n do
      local field, value = fields[i], values[i]
      if value then
        field = value(field)
        if field == nil then
          return nil
        end
      end
      record[names[i]] = field
    end
    return record
  end

  local function write(record)
    local fields = {}
    for i = 1, n do
      fields[i] = record[names[i]]
    end
    for f = 1, #flags do
      local i = flags[f]
      fields[i] = fields[i] and 1 or 0
    end
    return string.format(template, unpack(fields, 1, n))
  end

  return { read = read, write = write }
end

local function blankSlot()
  return {
    pod = '', podBorn = 0, podName = '', node = '', id = '', born = 0, ran = false,
    round = NO_ROUND, generation = 0, dead = false, finished = false, barrier = false,
  }
end

local tokenRecord, slotRecord, recoveryRecord = packed(TOKEN), packed(SLOT, blankSlot), packed(RECOVERY)
local restartRecord, tallyRecord = packed(CAUSE_AND_TIMES), packed(TALLY)
local failureRecord, stageRecord = packed(FAILURE), packed(STAGE)
local countRecord, stepRecord = packed(COUNT), packed(STEP)

-- A field on its own needs no match.
local number = { -- its text is kept, so that no zeros before it may make that long
  read = function(s) return #s <= MAX_DIGITS and string.find(s, '^%d+$') and countValue(s) end,
  write = format,
}
local function asItIs(s)
  return s
end

local text = {
  read = function(s) return s ~= '' and isWord(s) and s end,
  write = asItIs,
}
local phase = {
  read = function(s) return PHASES[s] and s end,
  write = asItIs,
}

-- dirty is the failure that made the group dirty; without one it is a table without a kind, and an empty string.
local dirty = {
  read = function(s) return s == '' and {} or failureRecord.read(s) end,
  write = function(f) return f.kind and failureRecord.write(f) or '' end,
}

-- listOf is a list of records of one kind, with a line break between them. No list is longer than that of the stages may be: there
-- are rules that take the square of it.
local function listOf(record)
  local function read(s)
    if #s > MAX_LIST then
      return nil
    end
    local list = {}
    for line in string.gmatch(s .. '\n', '([^\n]*)\n') do
      list[#list + 1] = record.read(line)
      if not list[#list] or #list > MAX_STAGES then
        return nil
      end
    end
    return list
  end
  local function write(list)
    local lines = {}
    for i = 1, #list do
      lines[i] = record.write(list[i])
    end
    return table.concat(lines, '\n')
  end
  return { read = read, write = write }
end

-- Counts and steps change within, so that only their texts can be compared. Another list of stages is another table.
local counts, steps, stages = listOf(countRecord), listOf(stepRecord), listOf(stageRecord)
counts.changesWithin, steps.changesWithin = true, true

-- STATE is the hash of a group: each field under its name in the rules. What every report counts up in the record of a
-- restart is kept in fields of its own, and the fields in LAZY are read only by the calls that need them.
local STATE = {
  { 'inc', text }, { 'gen', number }, { 'epoch', number }, { 'round', number }, { 'phase', phase }, { 'seq', number },
  { 'limit', number }, { 'stages', stages }, { 'counts', counts }, { 'steps', steps }, { 'dirty', dirty },
  { 'lastDownAt', number }, { 'firstUpAt', number }, { 'lastUpAt', number }, { 'lastStartAt', number },
  { 'downs', number }, { 'ups', number }, { 'starts', number }, { 'coalesced', number },
  { 'earlyEnds', number }, { 'delay', number }, { 'maxDelay', number },
}
local LAZY = { token = tokenRecord, record = restartRecord, recovery = recoveryRecord }
local STATE_FIELDS, STATE_KINDS, CHANGES_WITHIN = {}, {}, {}
for i = 1, #STATE do
  STATE_FIELDS[i], STATE_KINDS[i], CHANGES_WITHIN[i] = STATE[i][1], STATE[i][2], STATE[i][2].changesWithin or false
end
local SEQ, LISTS = 6, { 8, 9, 10 } -- where they are in it
