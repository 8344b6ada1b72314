-- Prelude of scripts that compare times.

-- clock returns Redis's time in milliseconds since 1970.
local function clock()
  local now = redis.call('TIME')
  return tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
end
