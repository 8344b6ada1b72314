-- Prelude of the fair lock's scripts: whose turn it is. After holds.lua and queue.lua.

-- turn returns nil if the owner of an acquire may take the lock: it holds the lock already, or the lock is free and
-- nobody came before it. Otherwise it gives the owner a place and returns the answer that it must wait.
local function turn(now)
  prune(now)
  local owner = owner_of(KEYS[1])
  if owner == ARGV[1] or not owner and not ahead(KEYS[4]) then
    vacate(ARGV[6])
    if owner ~= ARGV[1] then
      call_along('=', now)
    end
    return nil
  end
  return line_up(KEYS[4], now, owner and redis.call('PTTL', KEYS[1]) or tonumber(ARGV[5]))
end

-- due returns the first place of the queue if the lock is free.
due = function()
  if redis.call('EXISTS', KEYS[1]) == 1 then
    return {}
  end
  return redis.call('ZRANGE', KEYS[4], 0, 0)
end
