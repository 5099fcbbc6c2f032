-- Pipelining for wrk: every write carries as many requests as the argument says.
local requests

function init(args)
  local one = wrk.format()
  local all = {}
  for i = 1, tonumber(args[1]) do
    all[i] = one
  end
  requests = table.concat(all)
end

function request()
  return requests
end
