-- evict.go and missing.go: what the leader repairs.

-- evict takes a pod out of its slot, on evidence that it cannot run any more.
function Group:evict(token, slot, pod, now)
  self:lead(token)
  local i = self:stage(slot)
  if not i then
    fail('HFUNKNOWNSLOT', 'not a slot of this group')
  end
  if pod == '' or not isWord(pod) then
    fail('HFARGUMENT', 'evicting a pod: the UID is no name')
  end
  self.token = token
  local held = self:slot(slot)
  if self.phase == Closed or self.phase == Completed or self.counts[i].left or held == nil or held.pod ~= pod then
    return
  end
  if held.dead and not self:counted(i, held) then
    return
  end
  self:fence(pod)
  if held.finished then
    self:count(i, held, -1)
    held.finished, held.dead, held.round = false, false, self.round -- it was counted in whatever round it finished
    self:count(i, held, 1)
  end
  self:bury(i, held, replacedBy(slot, held, true), false, now)
  self:settle(now)
end

-- isMissing tells whether the slot of a record is not counted. It is asked for every slot, so it looks only at the end of
-- the record, and most have the one of a slot in sync.
function Group:isMissing(i, slot, raw, inSync)
  if not raw then
    return true
  end
  if string.sub(raw, -#inSync - 1, -2) == inSync then
    return false
  end
  local round, generation, dead, finished, barrier = string.match(raw, ' (%-?%d+) (%d+) ([01]) ([01]) ([01])$')
  if not round then
    foreign(self.keys.w, slot, raw)
  end
  return not self:counted(i, {
    round = tonumber(round), generation = tonumber(generation), dead = dead == '1', finished = finished == '1',
    barrier = barrier == '1',
  })
end

-- missing lists the slots that have to be in sync and are not. It reads all slots, some at a time.
function Group:missing()
  local list, inSync = {}, string.format(' %d %d 0 0 ', self.round, self.gen)
  local anyBegun = self:anyBegun()
  for i = 1, #self.stages do
    if self:expected(i, anyBegun) and self:missingOf(i, inSync, list) then
      break
    end
  end
  return list
end

-- missingOf adds those of one stage, and tells whether the list is full.
function Group:missingOf(i, inSync, list)
  local stage, size = self.stages[i], self:slotsOf(i)
  for from = 0, size - 1, MISSING_STEP do
    local slots = {}
    for n = from, math.min(from + MISSING_STEP, size) - 1 do
      slots[#slots + 1] = string.format('%s-%d-%d', stage.prefix, math.floor(n / stage.pods), n % stage.pods)
    end
    local raw = self:get('HMGET', self.keys.w, unpack(slots))
    for at = 1, #slots do
      if self:isMissing(i, slots[at], raw[at], inSync) then
        list[#list + 1] = slots[at]
        if #list == MISSING_LIMIT then
          return true
        end
      end
    end
  end
  return false
end
