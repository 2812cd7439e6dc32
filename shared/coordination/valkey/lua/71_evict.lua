-- evict.go and missing.go: what the leader repairs.

-- evict takes a pod out of its slot, on evidence that it cannot run any more.
function Group:evict(token, slot, pod, now)
  self:lead(token)
  if not self:has(slot) then
    fail('HFUNKNOWNSLOT', 'not a slot of this group')
  end
  if pod == '' or not isWord(pod) then
    fail('HFARGUMENT', 'evicting a pod: the UID is no name')
  end
  self.token = token
  local held = self:slot(slot)
  if self.phase == Closed or held == nil or held.pod ~= pod or (held.dead and not held.finished) then
    return
  end
  self:fence(pod)
  if held.finished then
    held.finished, held.dead, held.round = false, false, self.round -- it was counted in whatever round it finished
    self.done = self.done - 1
  end
  self:bury(held, replacedBy(slot, true), false, now)
  self:settle(now)
end

-- isMissing tells whether the slot of a record is not counted. It is asked for every slot, so it looks only at the end of
-- the record, and most have the one of a slot in sync.
function Group:isMissing(slot, raw, inSync)
  if not raw then
    return true
  end
  if string.sub(raw, -#inSync) == inSync then
    return false
  end
  local round, generation, dead, finished = string.match(raw, ' (%-?%d+) (%d+) ([01]) ([01])$')
  if not round then
    foreign(self.keys.w, slot, raw)
  end
  return not self:counted({
    round = tonumber(round), generation = tonumber(generation), dead = dead == '1', finished = finished == '1',
  })
end

-- missing lists the slots that have not joined the desired round. It reads all slots, some at a time.
function Group:missing()
  local list, inSync = {}, string.format(' %.0f %.0f 0 0', self.round, self.gen)
  for _, stage in ipairs(self.stages) do
    local size = stage.jobs * stage.pods
    for from = 0, size - 1, MISSING_STEP do
      local slots = {}
      for n = from, math.min(from + MISSING_STEP, size) - 1 do
        slots[#slots + 1] = string.format('%s-%.0f-%.0f', stage.prefix, math.floor(n / stage.pods), n % stage.pods)
      end
      local raw = self:get('HMGET', self.keys.w, unpack(slots))
      for i = 1, #slots do
        if self:isMissing(slots[i], raw[i], inSync) then
          list[#list + 1] = slots[i]
          if #list == MISSING_LIMIT then
            return list
          end
        end
      end
    end
  end
  return list
end
